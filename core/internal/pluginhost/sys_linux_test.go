package pluginhost

import "testing"

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) c) S 1 12 12 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 1 0 100 1000 25 18446744073709551615"))
	f.Add([]byte("1 ()"))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, ok := parseStat(b)
		if !ok && st != (procStat{}) {
			t.Errorf("%+v without success", st)
		}
	})
}

func TestParseStat(t *testing.T) {
	got, ok := parseStat([]byte("12 (a) b (c) S 1 13 14 0 -1 4194560 100 0 0 0 5 6 7 8 20 0 1 0 100 1000 25 18446744073709551615"))
	want := procStat{pid: 12, ppid: 1, started: 100, state: 'S', pgrp: 13, session: 14, ticks: 26, rssPages: 25}
	if !ok || got != want {
		t.Errorf("got %+v, %v", got, ok)
	}
}
