//go:build race

package memory

// processes is smaller with the race detector, which makes the start of each process many times slower.
const processes = 50
