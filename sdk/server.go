package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gonutch/crawler/sdk/extension/exchange"
	"github.com/gonutch/crawler/sdk/extension/indexingfilter"
	"github.com/gonutch/crawler/sdk/extension/indexwriter"
	"github.com/gonutch/crawler/sdk/extension/parsefilter"
	"github.com/gonutch/crawler/sdk/extension/parser"
	"github.com/gonutch/crawler/sdk/extension/protocol"
	"github.com/gonutch/crawler/sdk/extension/publisher"
	"github.com/gonutch/crawler/sdk/extension/scoring"
	"github.com/gonutch/crawler/sdk/extension/searcher"
	"github.com/gonutch/crawler/sdk/extension/segmentmerge"
	"github.com/gonutch/crawler/sdk/extension/urlexemption"
	"github.com/gonutch/crawler/sdk/extension/urlfilter"
	"github.com/gonutch/crawler/sdk/extension/urlnormalizer"
	"github.com/gonutch/crawler/sdk/fault"
	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/pb/basev1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
)

// Server is a plugin ready to be served: it answers the service that every
// plugin has and those of the extension points. Serve makes one by itself; it
// is exported for tests and tools that serve a plugin within their process.
type Server struct {
	basev1.UnimplementedPluginServiceServer
	plugin Plugin
	log    hclog.Logger

	mu  sync.Mutex // held while extensions are built or closed
	ext atomic.Pointer[Extensions]
}

// NewServer returns the server of p, not yet configured. Its log level is set
// by Configure.
func NewServer(p Plugin, log hclog.Logger) *Server { return &Server{plugin: p, log: log} }

// Register registers every service on r.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	basev1.RegisterPluginServiceServer(r, s)
	protocol.Register(r, from(s, func(e *Extensions) protocol.Protocol { return e.Protocol }))
	parser.Register(r, from(s, func(e *Extensions) parser.Parser { return e.Parser }))
	parsefilter.Register(r, from(s, func(e *Extensions) parsefilter.Filter { return e.ParseFilter }))
	urlnormalizer.Register(r, from(s, func(e *Extensions) urlnormalizer.Normalizer { return e.URLNormalizer }))
	urlfilter.Register(r, from(s, func(e *Extensions) urlfilter.Filter { return e.URLFilter }))
	urlexemption.Register(r, from(s, func(e *Extensions) urlexemption.Filter { return e.URLExemption }))
	scoring.Register(r, from(s, func(e *Extensions) scoring.Filter { return e.Scoring }))
	indexingfilter.Register(r, from(s, func(e *Extensions) indexingfilter.Filter { return e.IndexingFilter }))
	exchange.Register(r, from(s, func(e *Extensions) exchange.Exchange { return e.Exchange }))
	indexwriter.Register(r, from(s, func(e *Extensions) indexwriter.Writer { return e.IndexWriter }))
	publisher.Register(r, from(s, func(e *Extensions) publisher.Publisher { return e.Publisher }))
	segmentmerge.Register(r, from(s, func(e *Extensions) segmentmerge.Filter { return e.SegmentMerge }))
	searcher.Register(r, from(s, func(e *Extensions) searcher.Searcher { return e.Searcher }))
}

// from returns what a point's Register asks at every call.
func from[T comparable](s *Server, pick func(*Extensions) T) func() (T, error) {
	return func() (T, error) {
		var none T
		e := s.ext.Load()
		if e == nil {
			return none, status.Error(codes.FailedPrecondition, "plugin is not configured")
		}
		impl := pick(e)
		if impl == none {
			return none, status.Error(codes.Unimplemented, "plugin does not provide this extension point")
		}
		return impl, nil
	}
}

// Close releases the extensions, if any. Further calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closeLocked()
}

func (s *Server) closeLocked() error {
	e := s.ext.Swap(nil)
	if e == nil || e.Close == nil {
		return nil
	}
	if err := rpc.Safely(hclog.WithContext(context.Background(), s.log), e.Close); err != nil {
		return fmt.Errorf("close plugin: %w", err)
	}
	return nil
}

// Describe answers the host.
func (s *Server) Describe(context.Context, *basev1.DescribeRequest) (*basev1.DescribeResponse, error) {
	return &basev1.DescribeResponse{
		Manifest: s.plugin.Manifest, BuildId: buildID(), SdkVersion: sdkVersion(), ApiVersion: handshake.APIVersion,
	}, nil
}

// Configure builds the extensions; a second one closes those of the first.
func (s *Server) Configure(_ context.Context, r *basev1.ConfigureRequest) (*basev1.ConfigureResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.closeLocked(); err != nil {
		return nil, err
	}
	env := Env{Logger: s.log, DataDir: string(r.GetDataDir())}
	if raw := r.GetSettings(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &env.Settings); err != nil {
			return nil, fault.New(fault.Invalid, fmt.Errorf("read settings: %w", err))
		}
	}
	if l := r.GetLogLevel(); l != "" {
		level := hclog.LevelFromString(l)
		if level == hclog.NoLevel {
			return nil, fault.Errorf(fault.Invalid, "log level %q: want trace, debug, info, warn, error or off", l)
		}
		s.log.SetLevel(level)
	}
	e, err := s.plugin.New(env)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, errors.New("plugin has no extensions")
	}
	s.ext.Store(e)
	return &basev1.ConfigureResponse{}, nil
}

// Shutdown releases the extensions.
func (s *Server) Shutdown(context.Context, *basev1.ShutdownRequest) (*basev1.ShutdownResponse, error) {
	if err := s.Close(); err != nil {
		return nil, err
	}
	return &basev1.ShutdownResponse{}, nil
}

// buildID names this build: the commit it was made from, or what Go knows of it.
func buildID() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	id := b.Main.Version
	for _, s := range b.Settings {
		switch s.Key {
		case "vcs.revision":
			id = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				id += "+modified"
			}
		}
	}
	return id
}

// sdkVersion is the version of the module this package came from.
func sdkVersion() string {
	const path = "github.com/gonutch/crawler"
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if b.Main.Path == path {
		return b.Main.Version
	}
	for _, d := range b.Deps {
		if d.Path == path {
			return d.Version
		}
	}
	return ""
}
