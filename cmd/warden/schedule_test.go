package main

import (
	"strings"
	"testing"
	"time"

	"gatehouse/config"
)

func TestAScheduleThatLeavesAGateOverdueIsRefused(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		schedule string
		interval time.Duration
		want     string // in the error; empty for none
	}{
		"as often as the interval":       {"@hourly", time.Hour, ""},
		"twice the interval":             {"0 */2 * * *", time.Hour, ""},
		"daily by the hour":              {"@daily", time.Hour, `give the gate "interval: 24h"`},
		"daily by the day":               {"@daily", 24 * time.Hour, ""},
		"not at night":                   {"*/5 8-18 * * *", time.Hour, `up to 13h5m pass`},
		"not at weekends":                {"0 9 * * 1-5", 24 * time.Hour, `interval: 72h`},
		"every minute of one day a year": {"* * 1 1 *", 24 * time.Hour, `interval: 8736h1m`},
		"by a fixed time":                {"@every 90m", 30 * time.Minute, `interval of 30m`},
		"longer than any interval":       {"@yearly", 180 * 24 * time.Hour, `interval: 8760h`},
		"nonsense":                       {"whenever", time.Hour, "use @hourly"},
	} {
		err := checkSchedule(&config.Config{Schedule: row.schedule, Gates: []config.Gate{{Name: "g", Interval: row.interval}}}, now)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}
