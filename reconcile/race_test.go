//go:build race

package reconcile

// stride is how many places a crash test goes on at a time. With the race detector, which makes the start of each process
// many times slower, it visits a few; without it all.
const stride = 8
