//go:build !race

package vendorgate

import "os"

// stride is 1: a crash test visits each place. Where time is short, $GATEHOUSE_HURRY has it visit every third.
var stride = map[bool]int{false: 1, true: 3}[os.Getenv("GATEHOUSE_HURRY") != ""]
