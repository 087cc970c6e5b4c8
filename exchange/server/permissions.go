package server

import (
	nats "github.com/nats-io/nats-server/v2/server"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// permissions are what a host may do; all else is refused.
//
// What it publishes: its own statements, chunks of its objects, its claim of any alert. What it asks: a stream's leader
// or any replica for messages, and the leader of the claims for the time. What it hears: the answers, in its own inbox.
// There are no consumers, so none of their subjects.
func permissions(host string) *nats.Permissions {
	token := jetstream.Token(host)
	publish := []string{
		jetstream.Root + "." + jetstream.Claims + ".*." + token,
		"$JS.API.STREAM.INFO." + jetstream.ClaimsStream,
	}
	for _, kind := range exchange.Kinds() {
		subject := jetstream.Root + "." + string(kind) + "." + token
		switch kind {
		case exchange.Beats:
		case exchange.Objects:
			subject += ".*.*"
		default:
			subject += ".*"
		}
		publish = append(publish, subject)
	}
	for _, stream := range jetstream.Streams() {
		publish = append(publish, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream)
	}
	return &nats.Permissions{
		Publish:   &nats.SubjectPermission{Allow: publish},
		Subscribe: &nats.SubjectPermission{Allow: []string{jetstream.Inbox(host) + ".>"}},
	}
}

// nothing is what a powerless host may do.
func nothing() *nats.Permissions {
	all := &nats.SubjectPermission{Deny: []string{">"}}
	return &nats.Permissions{Publish: all, Subscribe: all}
}
