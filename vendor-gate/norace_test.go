//go:build !race

package vendorgate

const stride = 1
