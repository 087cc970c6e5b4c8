//go:build !race

package fleet_test

const stride = 1
