package main

import (
	"fmt"
	"path/filepath"

	"gatehouse/config"
	"gatehouse/internal/cli"
	"gatehouse/internal/durable"
	"gatehouse/notify"
)

// sinksOf returns where notices go. A host with none of them gets them on the error output, so that a first pass by
// hand, or cron's mail, shows them.
func sinksOf(c *config.Config, streams cli.Streams, disk durable.Disk) ([]notify.Sink, error) {
	var sinks []notify.Sink
	if s := c.Notify.Slack; s != nil {
		token, err := s.Token.Read()
		if err != nil {
			return nil, fmt.Errorf("notify.slack.token: %w", err)
		}
		sinks = append(sinks, notify.NewSlack(notify.SlackOptions{Token: token, Channel: s.Channel, APIURL: s.APIURL,
			Memory: filepath.Join(c.State, "slack-channel"), Disk: disk}))
	}
	if w := c.Notify.Webhook; w != nil {
		secret := ""
		if w.Secret != "" {
			var err error
			if secret, err = w.Secret.Read(); err != nil {
				return nil, fmt.Errorf("notify.webhook.secret: %w", err)
			}
		}
		sinks = append(sinks, notify.NewWebhook(w.URL, secret, nil))
	}
	if c.Notify.Journal {
		sinks = append(sinks, notify.NewJournal(streams.Err))
	}
	if len(sinks) == 0 {
		sinks = append(sinks, notify.NewText(streams.Err))
	}
	return sinks, nil
}
