package config

import (
	"fmt"
	"regexp"

	"github.com/gonutch/crawler/sdk/hclconf"
)

// RequireAgent checks that the crawler says who it is: commands that fetch call
// it before anything else. The name is a product token of RFC 9309, section
// 2.2.1, since robots.txt files name it.
func (c *Config) RequireAgent() error {
	const where = "write http { ... } on several lines in the --config file:\n" +
		"    http {\n" +
		"      agent_name = \"mycrawler\"\n" +
		"      agent_url  = \"https://example.org/crawler.html\"   # or agent_email\n" +
		"    }"
	var ps hclconf.Problems
	name := c.entry("http.agent_name")
	text, _ := name.value.(string)
	switch {
	case text == "":
		ps = append(ps, name.problem("http.agent_name is empty: web sites must be able to see and name the crawler; %s", where))
	case !regexp.MustCompile(`^[A-Za-z_-]+$`).MatchString(text):
		ps = append(ps, name.problem("http.agent_name %q: robots.txt files can name letters, \"_\" and \"-\" only (RFC 9309); "+
			"a version goes into agent_version, a sentence into agent_description", text))
	}
	url, email := c.entry("http.agent_url"), c.entry("http.agent_email")
	if url.value == "" && email.value == "" && text != "" {
		ps = append(ps, url.problem("http.agent_url and http.agent_email are both empty: web sites must be able to reach you; set one of them, such as "+
			"agent_url = \"https://example.org/crawler.html\" in http { ... }"))
	}
	for _, e := range []string{"http.agent_version", "http.agent_description", "http.agent_url", "http.agent_email"} {
		v, _ := c.entry(e).value.(string)
		if regexp.MustCompile(`[\x00-\x1f\x7f]`).MatchString(v) {
			ps = append(ps, c.entry(e).problem("%s holds a control character and can't be sent in a header", e))
		}
	}
	if err := ps.Err(); err != nil {
		return fmt.Errorf("the crawler has no name yet:\n%w", err)
	}
	return nil
}
