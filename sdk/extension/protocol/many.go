package protocol

import (
	"context"
	"errors"
	"runtime"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/gonutch/crawler/sdk/internal/pb/protocolv1"
	"github.com/gonutch/crawler/sdk/internal/rpc"
)

// errAlone says that an exchange has to be made by a call of its own.
var errAlone = errors.New("not by FetchMany")

// many is one call of FetchMany, which lasts as long as exchanges need it. Its
// fields are guarded by the Client's mu.
type many struct {
	calls   map[uint64]*exchange // those without an answer
	last    uint64               // number used
	users   int                  // goroutines in fetchTogether
	next    *protocolv1.FetchManyRequest
	wake    chan struct{} // next has something; never closed
	cancel  context.CancelFunc
	stopped chan struct{} // closed when both goroutines have ended
	broken  error         // why no answer will come any more
}

// exchange is one under way. Until done is closed the rest belongs to the receiver.
type exchange struct {
	answer
	err   error // how the call failed
	wrong error // what is wrong with the answer
	done  chan struct{}
}

// fetchTogether performs the exchange by the FetchMany under way, or a new one.
// errAlone means that this is not possible.
func (c *Client) fetchTogether(ctx context.Context, req *protocolv1.FetchRequest) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, rpc.Failed(ctx, what, status.FromContextError(err).Err())
	}
	x := &exchange{answer: answerTo(req), done: make(chan struct{})}
	call := &protocolv1.FetchCall{Request: req}
	if end, ok := ctx.Deadline(); ok {
		call.TimeoutNs = max(int64(time.Until(end)), 1)
	}
	m := c.join(ctx, call, x)
	var err, wrong error
	select {
	case <-x.done:
		err, wrong = x.err, x.wrong
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	c.leave(m, call.GetNumber(), err != nil || wrong != nil)
	switch {
	case errors.Is(err, errAlone):
		return nil, err
	case wrong != nil:
		return nil, wrong
	case err != nil:
		return nil, rpc.Failed(ctx, what, err)
	}
	return x.end()
}

// join hands the call to the sender, starting a FetchMany if there is none.
func (c *Client) join(ctx context.Context, call *protocolv1.FetchCall, x *exchange) *many {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.many
	if m == nil || m.broken != nil {
		m = c.open(ctx)
	}
	m.users++
	m.last++
	call.Number = m.last
	m.calls[call.GetNumber()] = x
	m.next.Calls = append(m.next.Calls, call)
	m.poke()
	return m
}

// leave ends what join began. The last one ends the FetchMany and waits for it.
func (c *Client) leave(m *many, number uint64, failed bool) {
	c.mu.Lock()
	if failed && m.broken == nil { // there may be more of the answer on its way
		delete(m.calls, number)
		m.next.Cancelled = append(m.next.Cancelled, number)
		m.poke()
	}
	m.users--
	last := m.users == 0
	if last && c.many == m {
		c.many = nil
	}
	c.mu.Unlock()
	if last {
		m.cancel()
		<-m.stopped
	}
}

// open starts a FetchMany; called with mu held.
func (c *Client) open(ctx context.Context) *many {
	m := &many{
		calls: map[uint64]*exchange{}, next: &protocolv1.FetchManyRequest{},
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx)) // it serves other callers as well
	c.many = m
	go func() {
		defer close(m.stopped)
		defer m.cancel()
		s, err := c.c.FetchMany(ctx)
		if err != nil {
			c.fail(m, err)
			return
		}
		received := make(chan struct{})
		go func() {
			defer close(received)
			defer m.cancel()
			c.fail(m, c.receive(s, m))
		}()
		c.send(ctx, s, m)
		<-received
	}()
	return m
}

func (m *many) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// send sends what callers ask for, what they ask at the same time in one message.
func (c *Client) send(ctx context.Context, s grpc.BidiStreamingClient[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse], m *many) {
	for {
		select {
		case <-m.wake:
		case <-ctx.Done():
			return
		}
		runtime.Gosched() // who is about to ask does it now
		c.mu.Lock()
		r := m.next
		m.next = &protocolv1.FetchManyRequest{}
		c.mu.Unlock()
		if len(r.GetCalls())+len(r.GetCancelled()) == 0 {
			continue
		}
		if err := s.Send(r); err != nil {
			m.cancel() // the receiver knows why
			return
		}
	}
}

// receive takes answers until no more come, and returns why.
func (c *Client) receive(s grpc.BidiStreamingClient[protocolv1.FetchManyRequest, protocolv1.FetchManyResponse], m *many) error {
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		c.mu.Lock()
		for _, p := range r.GetParts() {
			x := m.calls[p.GetNumber()]
			if x != nil && x.take(p) { // nil: nobody waits for it any more
				delete(m.calls, p.GetNumber())
				close(x.done)
			}
		}
		c.mu.Unlock()
	}
}

// take adds the part to the answer and reports whether it is complete, or wrong.
func (x *exchange) take(p *protocolv1.FetchPart) bool {
	if len(p.GetError()) > 0 {
		var s spb.Status
		if err := proto.Unmarshal(p.GetError(), &s); err != nil {
			x.wrong = rpc.Malformed(what, "%v", err)
		} else if x.err = status.ErrorProto(&s); x.err == nil {
			x.wrong = rpc.Malformed(what, "an error that is none")
		}
		return true
	}
	if p.GetResponse() != nil {
		x.wrong = x.add(p.GetResponse())
	}
	return x.wrong != nil || p.GetLast()
}

// fail ends the exchanges that have no answer. When the connection is lost each
// of them failed with it. Whatever else ended the call was meant for none of
// them: a plugin that has no FetchMany, or breaks it off, is not asked that way again.
func (c *Client) fail(m *many, err error) {
	if code := status.Code(err); code != codes.Unavailable && code != codes.Canceled {
		c.alone.Store(true)
		err = errAlone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.broken = err
	for number, x := range m.calls {
		delete(m.calls, number)
		x.err = err
		close(x.done)
	}
}
