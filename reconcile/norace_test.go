//go:build !race

package reconcile

const stride = 1
