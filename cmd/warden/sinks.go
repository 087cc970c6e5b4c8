package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coreos/go-systemd/v22/journal"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/notify"
)

// sinksOf returns where notices go. A host with none of them, or with a journal that nobody keeps, gets them on the error
// output in full, so that a first pass by hand, or cron's mail, shows them. A sink whose secret this process cannot read keeps its notices pending for one that
// can: a credential of the service is not there for a person who accepts.
//
// A pass of the units of warden install has no network: what goes over it is left to gatehouse-notify.service.
func sinksOf(c *config.Config, streams cli.Streams, disk durable.Disk) []notify.Sink {
	var sinks []notify.Sink
	later := sendsLater(streams)
	if s := c.Notify.Slack; s != nil && !later {
		if token, err := s.Token.Read(); err != nil {
			sinks = append(sinks, withoutSecret{"slack", fmt.Errorf("notify.slack.token: %w", err)})
		} else {
			sinks = append(sinks, notify.NewSlack(notify.SlackOptions{Token: token, Channel: s.Channel, APIURL: s.APIURL,
				Memory: filepath.Join(c.State, "slack-channel"), Disk: disk}))
		}
	}
	if w := c.Notify.Webhook; w != nil && !later {
		secret, err := "", error(nil)
		if w.Secret != "" {
			secret, err = w.Secret.Read()
		}
		if err != nil {
			sinks = append(sinks, withoutSecret{"webhook", fmt.Errorf("notify.webhook.secret: %w", err)})
		} else {
			sinks = append(sinks, notify.NewWebhook(w.URL, secret, nil))
		}
	}
	if c.Notify.Journal && (later || len(sinks) > 0 || journal.Enabled()) {
		sinks = append(sinks, notify.NewJournal(streams.Err))
	}
	if len(sinks) == 0 && !later {
		sinks = append(sinks, notify.NewText(streams.Err))
	}
	return sinks
}

func sendsLater(streams cli.Streams) bool { return streams.Getenv("GATEHOUSE_NOTIFY") == "later" }

// laterSinks names what is left to gatehouse-notify.service.
func laterSinks(c *config.Config, streams cli.Streams) (names []string) {
	if c.Notify.Slack != nil && sendsLater(streams) {
		names = append(names, "slack")
	}
	if c.Notify.Webhook != nil && sendsLater(streams) {
		names = append(names, "webhook")
	}
	return names
}

// withoutSecret stands for a sink that cannot be used by this process.
type withoutSecret struct {
	name string
	err  error
}

func (s withoutSecret) Name() string { return s.name }

func (s withoutSecret) Send(context.Context, notify.Message) error {
	return &notify.SendError{Err: s.err, Permanent: true, Refused: true}
}
