package config

import (
	"regexp"
	"strings"

	"github.com/gonutch/crawler/sdk/hclconf"
)

const agentExample = `write
    http {
      agent_name = "mycrawler"
      agent_url  = "https://example.org/crawler.html"   # or agent_email
    }
into the --config file, or -D http.agent_name=mycrawler -D http.agent_url=https://example.org/crawler.html`

// RequireAgent checks that the crawler says who it is and how to reach its
// owner; commands that fetch call it before anything else. The name is a
// product token of RFC 9309, section 2.2.1, since robots.txt files name it.
func (c *Config) RequireAgent() error {
	if c.broken["http"] {
		return nil // whatever is wrong with it was told
	}
	var ps hclconf.Problems
	text := func(key string) string {
		s, _ := c.entry("http." + key).value.(string)
		return s
	}
	name := text("agent_name")
	switch {
	case name == "":
		ps = append(ps, c.missing("http.agent_name", "web sites must be able to see who crawls them; "+agentExample))
	case !regexp.MustCompile(`^[A-Za-z_-]+$`).MatchString(name):
		ps = append(ps, c.entry("http.agent_name").about("%q can't be named in robots.txt files: want only letters, \"_\" and \"-\"; "+
			"a version goes into agent_version, more words into agent_description", name))
	}
	if text("agent_url") == "" && text("agent_email") == "" && name != "" {
		ps = append(ps, c.missing("http.agent_url", "web sites must be able to reach you; write agent_url = \"https://example.org/crawler.html\" "+
			"or agent_email = \"me@example.org\" into http { ... }"))
	}
	for _, key := range []string{"agent_version", "agent_description", "agent_url", "agent_email"} {
		if regexp.MustCompile(`[\x00-\x1f\x7f]`).MatchString(text(key)) {
			ps = append(ps, c.entry("http."+key).about("a header can't hold line ends and other control characters"))
		}
	}
	return ps.Err()
}

// missing is a setting that is empty: at its line in the user's files, else at
// its section, else at the last file's start.
func (c *Config) missing(key, text string) hclconf.Problem {
	text = key + " is empty: " + text
	section, _, _ := strings.Cut(key, delim)
	if e := c.entry(key); e.origin.Layer != Default {
		return e.problem("%s", text)
	}
	for _, k := range []string{section, ""} {
		if p, ok := c.places[k]; ok {
			out := p.file.Problem(p.at, "%s", text)
			out.Source = "" // the text says what to write
			return out
		}
	}
	return hclconf.Problem{Text: text}
}
