package config

import (
	"fmt"
	"slices"
	"time"

	"gatehouse/internal/document"
	"gatehouse/manifest"
)

// A FleetGate is a gate of other hosts that this one, a hub, compares with what was accepted here.
type FleetGate struct {
	Gate     string
	Hosts    []string // of peers.hosts, without this one
	Interval time.Duration
	Limits   manifest.Limits
}

func (f *FleetGate) read(v document.Value) {
	*f = FleetGate{Interval: defaultInterval, Limits: defaultLimits()}
	v.Mapping([]document.Field{
		document.Need("gate", text(&f.Gate, slug)),
		document.May("hosts", list(&f.Hosts, func(to *string, v document.Value) { text(to, hostName)(v) })),
		document.May("interval", duration(&f.Interval)),
		document.May("limits", limits(&f.Limits)),
	})
}

// checkFleet holds the section against the hosts that are known, and fills in all of them where none are named.
func (c *Config) checkFleet(doc *document.Document) {
	var known []string
	if c.Peers != nil {
		for _, h := range c.Peers.Hosts {
			if h.Name != c.Host {
				known = append(known, h.Name)
			}
		}
	}
	if len(c.Fleet) > 0 && len(known) == 0 {
		doc.Bad("fleet", "needs peers.hosts, with another host and its key")
		return
	}
	first := make(map[string]int)
	for i := range c.Fleet {
		f := &c.Fleet[i]
		if at, again := first[f.Gate]; again && f.Gate != "" {
			doc.Bad(fmt.Sprintf("fleet[%d].gate", i), "%q is also the gate of fleet[%d]", f.Gate, at)
		} else {
			first[f.Gate] = i
		}
		for j, name := range f.Hosts {
			at := fmt.Sprintf("fleet[%d].hosts[%d]", i, j)
			switch {
			case name == "":
			case name == c.Host:
				doc.Bad(at, "%q is this host itself; its gates stand in gates", name)
			case slices.Contains(f.Hosts[:j], name):
				doc.Bad(at, "%q is there twice", name)
			case !slices.Contains(known, name):
				doc.Bad(at, "%q is none of peers.hosts; its key has to be known", name)
			}
		}
		if !doc.Has(fmt.Sprintf("fleet[%d].hosts", i)) {
			f.Hosts = slices.Clone(known)
		}
	}
}
