package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gonutch/crawler/core/internal/query"
	"github.com/gonutch/crawler/sdk/fault"
)

// all asks both targets for a list, demands equal answers and returns what show
// makes of each.
func all[Q, A any](t *testing.T, direct, socket query.Target, l query.List[Q, A], q Q, show func(A) string) []string {
	t.Helper()
	var lists [2][]string
	for i, target := range []query.Target{direct, socket} {
		lists[i] = []string{}
		if err := query.Each(t.Context(), target, l, q, func(a A) error { lists[i] = append(lists[i], show(a)); return nil }); err != nil {
			t.Fatalf("%s, %+v: %v", l.Name, q, err)
		}
	}
	if d := cmp.Diff(lists[0], lists[1]); d != "" {
		t.Errorf("%s, %+v: the socket answers differently: %s", l.Name, q, d)
	}
	return lists[0]
}

func TestLists(t *testing.T) {
	c, root := crawled(t)
	direct, socket := targets(t, c, nil)
	path := func(url string) string { return strings.TrimPrefix(url, root) }

	row := func(r query.Row) string { return path(r.URL) + " " + r.StatusName }
	for _, x := range []struct {
		q    query.RecordsQuery
		want []string
	}{
		{query.RecordsQuery{}, []string{"/ db_fetched", "/bin db_fetched", "/blue db_fetched", "/gone db_gone"}},
		{query.RecordsQuery{Status: "db_gone"}, []string{"/gone db_gone"}},
		{query.RecordsQuery{Status: "gone"}, []string{"/gone db_gone"}},
		{query.RecordsQuery{Regex: ".*/b.*"}, []string{"/bin db_fetched", "/blue db_fetched"}},
		{query.RecordsQuery{Regex: "/b"}, []string{}}, // the whole URL
		{query.RecordsQuery{Retry: 1}, []string{}},
		{query.RecordsQuery{Expr: "http == 404 || status == 'db_gone'"}, []string{"/gone db_gone"}},
		{query.RecordsQuery{Expr: "fetchTime > 1000 && retries eq 0 && url =~ '.*n'", Status: "db_fetched"}, []string{"/bin db_fetched"}},
		{query.RecordsQuery{Expr: "Content_Type == 'text/html'"}, []string{"/ db_fetched", "/blue db_fetched"}},
		{query.RecordsQuery{Sample: 1e-12}, []string{}},
	} {
		if d := cmp.Diff(x.want, all(t, direct, socket, query.Records(), x.q, row)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", x.q, d)
		}
	}
	for _, q := range []query.RecordsQuery{{Status: "fine"}, {Regex: "("}, {Expr: "("}, {Expr: "score > 'a'"}, {Sample: 2}} {
		for _, target := range []query.Target{direct, socket} {
			if err := query.Each(t.Context(), target, query.Records(), q, func(query.Row) error { return nil }); !fault.Is(err, fault.Invalid) {
				t.Errorf("%+v: %v", q, err)
			}
		}
	}

	top := all(t, direct, socket, query.Top(), query.TopQuery{N: 2}, func(s query.Scored) string { return path(s.URL) })
	if len(top) != 2 || top[0] != "/" {
		t.Errorf("top: %v", top)
	}
	if got := all(t, direct, socket, query.Top(), query.TopQuery{N: 10, Min: 100}, func(s query.Scored) string { return s.URL }); len(got) != 0 {
		t.Errorf("above 100: %v", got)
	}
	if err := query.Each(t.Context(), direct, query.Top(), query.TopQuery{}, func(query.Scored) error { return nil }); !fault.Is(err, fault.Invalid) {
		t.Errorf("top 0: %v", err)
	}

	inlinks := func(a query.Inlinks) string {
		text := path(a.URL) + ":"
		for _, l := range a.Inlinks {
			text += " " + path(l.From) + "=" + l.Anchor
		}
		return text
	}
	if d := cmp.Diff([]string{}, all(t, direct, socket, query.AllInlinks(), query.InlinksQuery{}, inlinks)); d != "" {
		t.Errorf("inlinks of one host are left out by default: %s", d)
	}

	host := strings.TrimPrefix(root, "http://")
	host = host[:strings.IndexByte(host, ':')]
	hosts := func(h query.HostRow) string { return fmt.Sprint(h.Host, " ", h.Total, " ", h.Requests) }
	want := []string{host + " 4 5"} // with robots.txt
	for _, q := range []query.HostsQuery{{}, {Host: host}, {Expr: "gone == 1 && fetched > 2 && ok == numRecords - gone"}} {
		if d := cmp.Diff(want, all(t, direct, socket, query.Hosts(), q, hosts)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", q, d)
		}
	}
	for _, q := range []query.HostsQuery{{Host: "other.test"}, {Expr: "gone > fetched"}} {
		if got := all(t, direct, socket, query.Hosts(), q, hosts); len(got) != 0 {
			t.Errorf("%+v: %v", q, got)
		}
	}

	totals := func(r query.TotalsRow) string { return fmt.Sprint(r.Name, " ", r.Fetched, " ", r.Other) }
	if d := cmp.Diff([]string{host + " 3 1"}, all(t, direct, socket, query.Totals(), query.TotalsQuery{By: "host"}, totals)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"success, HTTP 200 3 0", "notfound, HTTP 404 1 0"}, all(t, direct, socket, query.Totals(), query.TotalsQuery{By: "protocol"}, totals)); d != "" {
		t.Error(d)
	}
	if err := query.Each(t.Context(), socket, query.Totals(), query.TotalsQuery{By: "colour"}, func(query.TotalsRow) error { return nil }); !fault.Is(err, fault.Invalid) {
		t.Errorf("by colour: %v", err)
	}
}

// TestListStops: an asker that has enough ends the list.
func TestListStops(t *testing.T) {
	c, _ := crawled(t)
	direct, socket := targets(t, c, nil)
	for _, target := range []query.Target{direct, socket} {
		enough := fault.Errorf(fault.Shutdown, "enough")
		n := 0
		err := query.Each(t.Context(), target, query.Records(), query.RecordsQuery{}, func(query.Row) error { n++; return enough })
		if err == nil || n != 1 {
			t.Errorf("%v after %d rows", err, n)
		}
	}
}
