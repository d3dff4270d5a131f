package testweb

import (
	"strings"
	"testing"
	"time"
)

func TestBadConfigsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"hosts is 0":                 func(c *Config) { c.Hosts = 0 },
		"pages is 5":                 func(c *Config) { c.Pages = 5 },
		"largest host is 10":         func(c *Config) { c.LargestHost = 10 },
		`page size "7KB"`:            func(c *Config) { c.PageSize = "7KB" },
		"links is 61":                func(c *Config) { c.Links = 61 },
		"port is 70000":              func(c *Config) { c.Port = 70000 },
		"must not be negative":       func(c *Config) { c.Delay = -1 },
		"whole seconds":              func(c *Config) { c.RetryAfter = time.Millisecond },
		"a share is 1.5":             func(c *Config) { c.Shares.Gzip = 1.5 },
		"the page shares add up":     func(c *Config) { c.Shares.NotFound, c.Shares.Redirect = 0.6, 0.6 },
		"the robots.txt shares add":  func(c *Config) { c.Shares.RobotsAllow, c.Shares.RobotsSome = 0.6, 0.6 },
		"dead, abrupt and dying sha": func(c *Config) { c.Shares.Dead, c.Shares.Dying = 0.6, 0.6 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestProfiles(t *testing.T) {
	for _, name := range []string{"plain", "standard", "stable", "traps"} {
		s, err := Profile(name)
		if err != nil {
			t.Error(err)
		}
		cfg := DefaultConfig()
		cfg.Shares = s
		if _, err := New(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Profile("wild"); err == nil || !strings.Contains(err.Error(), "plain, standard") {
		t.Errorf("unknown profile: %v", err)
	}
}
