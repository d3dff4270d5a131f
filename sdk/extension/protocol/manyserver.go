package protocol

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gonutch/crawler/sdk/handshake"
	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
	"github.com/gonutch/crawler/sdk/internal/wire"
)

// together is how many bytes of parts travel in one message, unless it is one part.
const together = 2 * chunk

// exchanges are those of one call of FetchMany.
type exchanges struct {
	s          *server
	maxMessage int
	work       chan job // to workers that have nothing to do: their stacks have grown already
	workers    sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of those under way
	parts   []part                        // to be sent
	size    int                           // of parts, in bytes
	ended   bool                          // nothing is sent any more
	room    sync.Cond                     // size went down, or ended was set
	wake    chan struct{}                 // parts has something
}

type part struct {
	*protocolv1.FetchPart
	size int // in bytes
}

type job struct {
	ctx  context.Context //nolint:containedctx // the exchange's own
	call *protocolv1.FetchCall
}

func (s *server) FetchMany(st grpc.BidiStreamingServer[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse]) error {
	if _, err := s.impl(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(st.Context())
	defer cancel()
	e := &exchanges{
		s: s, maxMessage: handshake.MaxMessage(), work: make(chan job),
		cancels: map[uint64]context.CancelFunc{}, wake: make(chan struct{}, 1),
	}
	e.room.L = &e.mu
	sent := make(chan error, 1)
	go func() {
		defer cancel() // who can't answer need not go on
		sent <- e.send(st.Send)
	}()
	err := e.receive(ctx, st.Recv)
	if err != nil {
		cancel()
	}
	close(e.work)
	e.workers.Wait()
	close(e.wake)
	return errors.Join(err, <-sent)
}

// receive starts the exchanges that are asked for until no more will be.
func (e *exchanges) receive(ctx context.Context, recv func() (*protocolv1.FetchManyRequest, error)) error {
	for {
		r, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, call := range r.GetCalls() {
			j := e.job(ctx, call)
			select {
			case e.work <- j:
			default:
				e.workers.Go(func() {
					for ok := true; ok; j, ok = <-e.work {
						e.exchange(j)
					}
				})
			}
		}
		e.mu.Lock()
		for _, number := range r.GetCancelled() {
			if cancel := e.cancels[number]; cancel != nil {
				cancel()
			}
		}
		e.mu.Unlock()
	}
}

func (e *exchanges) job(ctx context.Context, call *protocolv1.FetchCall) job {
	var cancel context.CancelFunc
	if d := call.GetTimeoutNs(); d > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(d))
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancels[call.GetNumber()] = cancel
	return job{ctx: ctx, call: call}
}

// exchange performs one and hands its answer to the sender.
func (e *exchanges) exchange(j job) {
	number := j.call.GetNumber()
	err := rpc.Safely(j.ctx, func() error {
		m, parts, err := e.s.fetch(j.ctx, j.call.GetRequest())
		if err != nil {
			return err
		}
		return sendParts(func(r *protocolv1.FetchResponse, last bool) error {
			return e.put(j.ctx, &protocolv1.FetchPart{Number: number, Response: r, Last: last})
		}, m, parts)
	})
	if err != nil {
		// An error that can't be encoded or sent is one of the whole call, which tells of it.
		b, _ := proto.Marshal(status.Convert(wire.Status(j.ctx, err)).Proto())
		_ = e.put(context.WithoutCancel(j.ctx), &protocolv1.FetchPart{Number: number, Last: true, Error: b})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancels[number]()
	delete(e.cancels, number)
}

// put hands a part to the sender and waits while that has enough.
func (e *exchanges) put(ctx context.Context, p *protocolv1.FetchPart) error {
	n := proto.Size(p)
	if n > e.maxMessage-1<<10 {
		return status.Errorf(codes.ResourceExhausted, "the head of an answer has %d bytes; a message may have %d", n, e.maxMessage)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.size >= together {
		defer context.AfterFunc(ctx, e.room.Broadcast)()
	}
	for e.size >= together && !e.ended && ctx.Err() == nil {
		e.room.Wait()
	}
	if e.ended {
		return errEnded
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	e.parts, e.size = append(e.parts, part{p, n}), e.size+n
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return nil
}

var errEnded = status.Error(codes.Canceled, "the host has gone")

// send sends parts until wake is closed, what is ready at the same time in one message.
func (e *exchanges) send(send func(*protocolv1.FetchManyResponse) error) error {
	var err error
	for ok := true; ok && err == nil; {
		_, ok = <-e.wake
		runtime.Gosched() // whose answer is ready hands it over now
		for parts := e.take(); len(parts) > 0 && err == nil; parts = e.take() {
			err = send(&protocolv1.FetchManyResponse{Parts: parts})
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.room.Broadcast()
	return err
}

// take returns the next parts that fit into one message.
func (e *exchanges) take() []*protocolv1.FetchPart {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*protocolv1.FetchPart
	size := 0
	for _, p := range e.parts {
		if size > 0 && size+p.size > together {
			break
		}
		out, size = append(out, p.FetchPart), size+p.size
	}
	if e.parts = e.parts[len(out):]; len(e.parts) == 0 {
		e.parts = nil // it holds on to what was sent
	}
	e.size -= size
	e.room.Broadcast()
	return out
}
