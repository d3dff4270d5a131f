package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestResolveURLs uses what every machine can resolve and nobody can.
func TestResolveURLs(t *testing.T) {
	list := "http://localhost/a\nhttp://localhost/b\nhttp://127.0.0.1/\nhttps://name.invalid/\n"
	runLine(t, list, "resolveurls", "-").wants(t, ExitError, "^ok\tlocalhost\t\\d+ms\t.*(127\\.0\\.0\\.1|::1)", "^ok\t127\\.0\\.0\\.1\t0ms\t127", "^failed\tname\\.invalid\t", "!4 URLs, 3 hosts: 2 resolved, 1 failed", "!1 host could not be resolved")
	runLine(t, "", "resolveurls", "http://localhost/").wants(t, 0)
	o := runLine(t, list, "resolveurls", "--failed", "--json", "--num-threads", "2", "-")
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	var r struct{ Host string }
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &r) != nil || r.Host != "name.invalid" || !strings.Contains(lines[1], `"hosts":3`) {
		t.Errorf("%d %s%s", o.code, o.out, o.err)
	}
	runLine(t, "", "resolveurls").wants(t, ExitUsage, "!no URLs")
	runLine(t, "", "resolveurls", "--threads", "0", "x").wants(t, ExitUsage, "!--threads 0")
}
