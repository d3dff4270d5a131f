package pluginhost

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/handshake"
)

// Options are the host's settings (section "plugin"). Zero values mean the
// defaults given here.
type Options struct {
	StartTimeout time.Duration // from the start of a process to its first answer, settings included; 30 s
	CallTimeout  time.Duration // of one call; a plugin that takes longer counts as hung; 60 s
	StopTimeout  time.Duration // for a plugin to end by itself when asked to; 5 s

	MemoryLimit int64 // bytes for a plugin and all processes it started; 1 GiB; negative means none
	MaxProcs    int   // GOMAXPROCS of plugins; 0 leaves it to them
	MaxMessage  int   // bytes of one message, both ways; 64 MiB
	Concurrency int   // calls to one plugin at a time unless its manifest says otherwise; 8

	MaxCrashes         int           // deaths in a row without a completed record until the plugin is given up; 10
	BackoffMin         time.Duration // wait before the second start in a row that led nowhere, doubled each time; 100 ms
	BackoffMax         time.Duration // longest such wait; 10 s
	QuarantineAttempts int           // deaths with one record alone until the record is poisonous; 3
	QuarantineProcs    int           // processes of one plugin that do suspect records at the same time; 2

	HealthInterval time.Duration // between health checks; 10 s; negative means none
	HealthTimeout  time.Duration // that a health check may go unanswered; 15 s
	WatchInterval  time.Duration // between looks at memory; 1 s

	AutoMTLS  bool
	Checksums map[string]string // by plugin id: SHA-256 in hex of the files of its command
	Reattach  map[string]string // by plugin id: "unix:/path" or "tcp:host:port" of a plugin started by hand

	// Executable serves the built-in plugins with the arguments "plugin serve
	// ID", and guards with "plugin guard"; /proc/self/exe.
	Executable string
	// RunDir is where the folder with the sockets is made; the system's folder
	// for temporary files.
	RunDir string
	// DataDir is where plugins may keep files, each in a folder named by its id;
	// "" for none.
	DataDir string
	// Env is added to the environment of every plugin.
	Env map[string]string
	// PassEnv names variables of this process that plugins get beside the usual
	// ones.
	PassEnv  []string
	LogLevel string       // of plugins, such as "info"; "" means info
	Logger   hclog.Logger // nil logs nothing
}

func (o Options) withDefaults() Options {
	duration := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	number := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	duration(&o.StartTimeout, 30*time.Second)
	duration(&o.CallTimeout, time.Minute)
	duration(&o.StopTimeout, 5*time.Second)
	duration(&o.BackoffMin, 100*time.Millisecond)
	duration(&o.BackoffMax, 10*time.Second)
	duration(&o.HealthInterval, 10*time.Second)
	duration(&o.HealthTimeout, 15*time.Second)
	duration(&o.WatchInterval, time.Second)
	number(&o.MaxMessage, handshake.DefaultMaxMessage)
	number(&o.Concurrency, 8)
	number(&o.MaxCrashes, 10)
	number(&o.QuarantineAttempts, 3)
	number(&o.QuarantineProcs, 2)
	if o.MemoryLimit == 0 {
		o.MemoryLimit = 1 << 30
	}
	if o.Executable == "" {
		o.Executable = selfExe()
	}
	if o.LogLevel == "" {
		o.LogLevel = "info"
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return o
}
