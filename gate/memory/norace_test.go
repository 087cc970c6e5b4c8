//go:build !race

package memory

const processes = 200
