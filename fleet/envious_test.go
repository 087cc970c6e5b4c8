package fleet_test

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse/exchange"
	"gatehouse/internal/durable"
	"gatehouse/manifest"
	"gatehouse/reconcile"
)

// relist has a host sign another list of entries than its own.
func (w *world) relist(host string, change func(*manifest.Generation)) {
	w.t.Helper()
	_, payload, _ := strings.Cut(string(must(os.ReadFile(w.exported(host)))), "\n")
	var said struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal([]byte(payload), &said); err != nil {
		w.t.Fatal(err)
	}
	objects := w.path("exchange", "objects", host)
	list := must(manifest.ParseGeneration(must(os.ReadFile(filepath.Join(objects, said.Content))), testLimits()))
	change(list)
	data := must(list.Marshal())
	if err := os.WriteFile(filepath.Join(objects, digestOf(data)), data, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.tamper(w.exported(host), func(e []byte) []byte {
		return resealed(host, "gatehouse/export/v1", func(s string) string { return strings.Replace(s, said.Content, digestOf(data), 1) })(w, e)
	})
}

// A host that says of the files of others' drift what is not so, in what no tree has in it, spoils it for itself only.
func TestAHostThatLiesAboutSizesSpoilsNoDriftOfOthers(t *testing.T) {
	for name, hostile := range map[string]string{"the first": "agent-01", "the last": "agent-03"} {
		t.Run(name, func(t *testing.T) {
			w, hosts, hub := settled(t, 3)
			w.later(time.Hour)
			for _, h := range hosts {
				h.drift("allow: []\n")
			}
			w.relist(hostile, func(list *manifest.Generation) {
				for i := range list.Entries {
					if list.Entries[i].Type == manifest.File {
						list.Entries[i].Size++
					}
				}
			})
			for range 2 {
				reports := hub.pass()
				for host, r := range reports {
					if want := map[bool]reconcile.Result{true: reconcile.Mismatch, false: reconcile.Drifted}[host == hostile]; r.Result != want {
						t.Errorf("%s is %s: %+v", host, r.Result, r.Findings)
					}
				}
			}
			fingerprint := ""
			for host, r := range hub.pass() {
				if host != hostile {
					fingerprint = r.Fingerprint
				}
			}
			if accepted := hub.accept(fingerprint); len(accepted) != 2 {
				t.Errorf("accepted for %q", accepted)
			}
		})
	}
}

// Hosts that say that they have what another has, and have nothing, do not keep the hub from asking that one.
func TestHostsWithoutTheirObjectsDoNotHideTheOneThatHasThem(t *testing.T) {
	w, hosts, hub := settled(t, 6)
	w.later(time.Hour)
	for _, h := range hosts {
		h.drift("allow: []\n")
	}
	for _, h := range hosts[:5] {
		if err := os.RemoveAll(w.path("exchange", "objects", h.name)); err != nil {
			t.Fatal(err)
		}
	}
	last := hub.pass()["agent-06"]
	if last.Result != reconcile.Drifted {
		t.Fatalf("%s: %+v", last.Result, last.Findings)
	}
	hub.accept(last.Fingerprint)
}

// What hosts say about gates that a hub does not know is not read.
func TestAHubReadsNothingAboutOtherGates(t *testing.T) {
	w, _, hub := settled(t, 1)
	var asked []exchange.Key
	h := hub.fetcher(asking{w.exchange("hub"), &asked}, durable.Disk{})
	if err := h.Sweep(t.Context(), gateName, "codex").Err(); err != nil {
		t.Fatal(err)
	}
	want := []exchange.Key{{Kind: exchange.Exports, Rest: gateName}, {Kind: exchange.Exports, Rest: "codex"}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type asking struct {
	exchange.Exchange
	asked *[]exchange.Key
}

func (a asking) List(ctx context.Context, under exchange.Key) iter.Seq2[exchange.Entry, error] {
	*a.asked = append(*a.asked, under)
	return a.Exchange.List(ctx, under)
}
