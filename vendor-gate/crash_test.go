package vendorgate

const crashJob = "VENDORGATE_TEST_CRASH"

func crashingCommit(string) int { return 0 }
