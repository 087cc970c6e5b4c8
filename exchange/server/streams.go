package server

import (
	"context"
	"fmt"
	"time"

	client "github.com/nats-io/nats.go/jetstream"

	"gatehouse/exchange"
	"gatehouse/exchange/jetstream"
)

// claimAge is how long claims are kept: longer than they can count.
const claimAge = 48 * time.Hour

// streams are the streams of a node of this size.
//
// What a full stream does differs. Objects and statements refuse what is new, so that nothing which was acknowledged goes
// away. Told drops what is oldest: an alert that is told twice is better than one that is not. Claims refuse, and who
// cannot claim tells. Of beats there is one for each host, whatever the hosts do, so they can only be full where the node
// is too small for so many. Each has its part of the node's disk to itself: what fills one takes nothing from the others.
func streams(size int64, replicas int) []client.StreamConfig {
	last := func(name string, subjects ...string) client.StreamConfig {
		for i, subject := range subjects {
			subjects[i] = jetstream.Root + "." + subject
		}
		return client.StreamConfig{
			Name: name, Subjects: subjects, Replicas: replicas, Storage: client.FileStorage,
			MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxConsumers: 1, Discard: client.DiscardNew,
			MaxMsgSize: exchange.MaxStatement, Duplicates: 100 * time.Millisecond,
			DenyDelete: true, DenyPurge: true, AllowRollup: false, AllowDirect: true,
		}
	}
	beats := last(jetstream.BeatsStream, "beats.*")
	beats.MaxBytes = size / 4

	statements := last(jetstream.StatementsStream, "exports.*.*", "accepted.*.*")
	statements.MaxBytes = size / 8

	told := last(jetstream.ToldStream, "told.*.*")
	told.MaxBytes, told.MaxAge, told.Discard = size/32, exchange.StatementAge, client.DiscardOld

	objects := last(jetstream.ObjectsStream, "objects.*.*.*")
	objects.MaxBytes, objects.MaxAge = size/2, exchange.ObjectAge
	objects.MaxMsgSize = jetstream.ChunkSize + 256

	claims := last(jetstream.ClaimsStream, jetstream.Claims+".*.*")
	claims.MaxBytes, claims.MaxAge, claims.MaxMsgSize = size/64, claimAge, 512
	claims.DiscardNewPerSubject = true // a host claims an id once

	return []client.StreamConfig{beats, statements, told, objects, claims}
}

// MakeStreams creates the streams, or brings them to what this version wants. In a cluster it waits until two of three
// nodes have found each other.
func (s *Server) MakeStreams(ctx context.Context) error {
	size := s.node.Size
	if size == 0 {
		size = DefaultSize
	}
	for _, config := range streams(size, s.node.replicas()) {
		for {
			err := s.makeStream(ctx, config)
			if err == nil {
				break
			}
			select { // no leader yet, not enough nodes, a busy machine, or a reload, which cuts off who is just coming in
			case <-ctx.Done():
				return fmt.Errorf("make stream %s: %w", config.Name, err)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// makeStream tries once, over a connection of its own: one that was lost is not made anew.
func (s *Server) makeStream(ctx context.Context, config client.StreamConfig) error {
	nc, err := s.admin()
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := client.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = js.CreateOrUpdateStream(ctx, config)
	return err
}
