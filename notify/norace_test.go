//go:build !race

package notify

const stride = 1

const manyChanges = 10000
