package chaos

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/setting"
)

//go:embed plugin.hcl
var manifest []byte

// Plugin returns the plugin.
func Plugin() sdk.Plugin { return sdk.Plugin{Manifest: manifest, New: build} }

type config struct {
	Points    []string         `json:"points"`
	Configure string           `json:"configure"`
	Shutdown  string           `json:"shutdown"`
	Children  int              `json:"children"`
	Slow      setting.Duration `json:"slow"`
	Hog       setting.Size     `json:"hog"`
	Leak      setting.Size     `json:"leak"`
	Huge      setting.Size     `json:"huge"`
}

// plugin is the running plugin.
type plugin struct {
	config
	env sdk.Env

	mu       sync.Mutex
	leaked   [][]byte
	children []*exec.Cmd
}

func build(env sdk.Env) (*sdk.Extensions, error) {
	c := &plugin{env: env}
	if err := env.Settings.Decode(&c.config); err != nil {
		return nil, err
	}
	switch c.Configure {
	case "error":
		return nil, fault.Errorf(fault.Invalid, "the chaos plugin was asked not to start")
	case "exit":
		os.Exit(7)
	case "hang":
		hang()
	case "slow":
		time.Sleep(c.Slow.D())
	}
	for range c.Children {
		if err := c.fork(false); err != nil {
			return nil, err
		}
	}
	return &sdk.Extensions{
		Protocol: fetcher{c}, Parser: pages{c}, ParseFilter: parseFilter{c}, URLNormalizer: normalizer{c}, URLFilter: filter{c},
		Scoring: scorer{c}, IndexingFilter: indexingFilter{c}, Close: c.close,
	}, nil
}

func (c *plugin) close() error {
	switch c.Shutdown {
	case "error":
		return fmt.Errorf("the chaos plugin was asked not to stop")
	case "exit":
		os.Exit(7)
	case "hang":
		hang()
	}
	// What it started goes on: ending it is the host's business. Only the dead
	// are buried here.
	return nil
}

// hang never returns. A select without cases would let Go's runtime see that
// nothing can go on, and end the process.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}
