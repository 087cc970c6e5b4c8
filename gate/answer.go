package gate

import "gatehouse/gate/policy"

// ask turns a policy's answer into the action of a reason; ok is false where there is nothing to object.
func ask(a policy.Answer) (_ Action, ok bool) {
	switch a {
	case policy.Allow:
		return Allow, false
	case policy.Ask:
		return Ask, true
	default:
		return Deny, true
	}
}

// dynamic objects as the policy says to a value that is known only at run time.
func (j *judge) dynamic(r Reason) {
	action, ok := ask(j.p.Dynamic)
	if !ok {
		return
	}
	r.Action, r.Stage = action, StageDynamic
	if r.At == "" {
		r.Rule, r.At = "dynamic_values", j.keyAt("dynamic_values")
	}
	j.add(r)
}
