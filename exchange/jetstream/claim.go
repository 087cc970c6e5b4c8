package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"gatehouse/exchange"
)

// A claimBody is the value of a claim. Whose it is says its subject, and when it was made the stream.
type claimBody struct {
	Lease time.Duration `json:"lease_ns"`
}

// Claim implements exchange.Exchange. The stream takes one claim of each host for each id.
func (x *Exchange) Claim(ctx context.Context, id string, lease time.Duration) (exchange.Claim, error) {
	if err := exchange.CheckID(id); err != nil {
		return exchange.Claim{}, err
	}
	ctx, cancel := within(ctx, requestTime)
	defer cancel()
	claim, err := x.claim(ctx, id, lease)
	if err != nil {
		return exchange.Claim{}, fmt.Errorf("claim %s: %w", id, meaning(err))
	}
	return claim, nil
}

func (x *Exchange) claim(ctx context.Context, id string, lease time.Duration) (exchange.Claim, error) {
	all := Root + "." + Claims + "." + Token(id) + ".*"
	mine := Root + "." + Claims + "." + Token(id) + "." + Token(x.host)
	body, err := json.Marshal(claimBody{lease})
	if err != nil {
		return exchange.Claim{}, err
	}
	for {
		stored, last, err := x.claims(ctx, all)
		if err != nil {
			return exchange.Claim{}, err
		}
		now, err := x.now(ctx)
		if err != nil {
			return exchange.Claim{}, err
		}
		if held, ok := exchange.Holder(id, stored, x.host, now); ok {
			return held, nil
		}
		_, err = x.store(ctx, &nats.Msg{Subject: mine, Data: body}, jetstream.WithExpectLastSequenceForSubject(last, all))
		api, _ := errors.AsType[*jetstream.APIError](err)
		overtaken := api != nil && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastConst)
		if err != nil && !overtaken {
			return exchange.Claim{}, err
		}
		if overtaken {
			select { // the one that overtook this is being stored
			case <-ctx.Done():
				return exchange.Claim{}, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}

// claims returns the claims of an id in their order, and the last sequence.
func (x *Exchange) claims(ctx context.Context, all string) ([]exchange.Stored, uint64, error) {
	last, err := x.lead(ctx, ClaimsStream, getRequest{LastFor: all})
	if errors.Is(err, errNoMessage) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var stored []exchange.Stored
	next, err := x.sweep(ctx, ClaimsStream, all, 1, last.seq, func(m message) bool {
		if c, ok := parseClaim(m); ok {
			stored = append(stored, c)
		}
		return true
	})
	return stored, next - 1, err
}

func parseClaim(m message) (exchange.Stored, bool) {
	host := fromToken(m.subject[strings.LastIndexByte(m.subject, '.')+1:])
	var body claimBody
	if exchange.CheckHost(host) != nil || json.Unmarshal(m.data, &body) != nil {
		return exchange.Stored{}, false
	}
	return exchange.Stored{Host: host, At: m.at, Lease: body.Lease}, true
}

// now is the time of the leader of the claims, which also dates them.
func (x *Exchange) now(ctx context.Context) (time.Time, error) {
	msg, err := x.ask(ctx, "$JS.API.STREAM.INFO."+ClaimsStream, struct{}{})
	if err != nil {
		return time.Time{}, err
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		Time  time.Time           `json:"ts"`
	}
	if err := json.Unmarshal(msg.Data, &answer); err != nil {
		return time.Time{}, err
	}
	if answer.Error != nil {
		return time.Time{}, answer.Error
	}
	if answer.Time.IsZero() {
		return time.Time{}, errors.New("the answer has no time")
	}
	return answer.Time, nil
}
