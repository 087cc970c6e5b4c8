package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gatehouse/gate/catalog"
)

// reporter tells the client how far its call is, if it asked for that. A client that does not read holds up neither the
// tool nor its time limit: what it has not taken is replaced by what is newer. quiet ends it, before the result is sent.
func reporter(ctx context.Context, r *mcp.CallToolRequest) (report func(catalog.Progress), quiet func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	latest := make(chan catalog.Progress, 1)
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case p := <-latest:
				r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token,
					Progress:      p.Elapsed.Seconds(),
					Total:         p.Timeout.Seconds(),
					Message: fmt.Sprintf("%s: %v of at most %v, %d bytes of output", p.Tool, p.Elapsed.Round(time.Second),
						p.Timeout, p.Bytes),
				})
			}
		}
	})
	report = func(p catalog.Progress) {
		select {
		case <-latest:
		default:
		}
		select {
		case latest <- p:
		default:
		}
	}
	return report, func() { cancel(); telling.Wait() }
}
