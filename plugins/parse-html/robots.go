package parsehtml

import (
	"strings"

	"github.com/gonutch/crawler/plugins/internal/libhtml"
	"github.com/gonutch/crawler/sdk/model"
)

// robots sums up what a page's meta elements and its X-Robots-Tag headers say
// to all robots and to agent. Rules add up: nothing one place forbids is
// allowed by another.
func robots(metas []libhtml.Meta, headers []string, agent string) model.RobotsMeta {
	var r model.RobotsMeta
	for _, m := range metas {
		switch {
		case m.Name == "robots", m.Name != "" && m.Name == agent:
			directives(m.Content, &r)
		case m.HTTPEquiv == "pragma" && strings.Contains(strings.ToLower(m.Content), "no-cache"):
			r.NoArchive = true
		}
	}
	for _, h := range headers {
		header(h, agent, &r)
	}
	return r
}

// directives adds the rules of a list such as "noindex, nofollow".
func directives(list string, r *model.RobotsMeta) {
	for _, d := range strings.FieldsFunc(strings.ToLower(list), func(c rune) bool { return c == ',' || c == ';' || c <= ' ' }) {
		switch d {
		case "none":
			r.NoIndex, r.NoFollow = true, true
		case "noindex":
			r.NoIndex = true
		case "nofollow":
			r.NoFollow = true
		case "noarchive", "nocache":
			r.NoArchive = true
		}
	}
}

// header adds the rules of one X-Robots-Tag header. A rule may start with
// "agent:", which holds for it and those that follow.
func header(value, agent string, r *model.RobotsMeta) {
	mine := true
	for part := range strings.SplitSeq(value, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		name, rest, ok := strings.Cut(part, ":")
		if ok && !hasValue(strings.TrimSpace(name)) {
			mine = strings.TrimSpace(name) == agent && agent != ""
			part = rest
		}
		if mine {
			directives(part, r)
		}
	}
}

// hasValue reports whether name is a rule that is written "name: value".
func hasValue(name string) bool {
	switch name {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}
