package spec

import "gatehouse/gate/call"

// A mask is a set of kinds of effects.
type mask uint16

const (
	maskRead mask = 1 << iota
	maskWrite
	maskAppend
	maskDelete
	maskChdir
	maskRun
	maskCode
	maskNet
	maskProcess
	maskRoot
	maskSystem

	// maskNone is that nothing is done, which is more than that nothing is known.
	maskNone mask = 1 << 15

	// maskFile are the effects that make a value a path.
	maskFile = maskRead | maskWrite | maskAppend | maskDelete | maskChdir
)

// effectKinds are the kinds in the order of their bits, which is also the order in which they are listed.
var effectKinds = [...]call.EffectKind{
	call.Read, call.Write, call.Append, call.Delete, call.Chdir, call.Run, call.Code, call.Net, call.Process, call.Root,
	call.System,
}

func maskOf(s string) (mask, bool) {
	if s == "none" {
		return maskNone, true
	}
	for i, kind := range effectKinds {
		if s == kind.String() {
			return 1 << i, true
		}
	}
	return 0, false
}
