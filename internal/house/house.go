// Package house holds the tests that keep the house in order.
//
// They read the module as a whole: which package imports which, and what the program on the agent's side links
// (imports_test.go); whether each package says what it is for, has no catch-all name and keeps no state of its own
// (packages_test.go); and whether the text names places that only one machine has (text_test.go).
//
// A failure here is a question about design, not a slip: the answer may be to change the table, in the same commit and
// with the reason.
package house
