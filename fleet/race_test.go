//go:build race

package fleet_test

// stride is how many steps a crash test goes on at a time: with the race detector each costs five times as much.
const stride = 5
