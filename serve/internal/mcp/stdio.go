package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A patient transport reports the end of input when all requests before it are
// answered. The SDK ends a session at once and cancels what runs, which would leave
// "printf REQUESTS | atenia mcp" without answers.
type patient struct{ sdk.Transport }

// Connect implements [sdk.Transport].
func (p patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	pc := &patientConn{Connection: c}
	pc.idle.L = &pc.mu
	return pc, nil
}

type patientConn struct {
	sdk.Connection

	mu      sync.Mutex
	idle    sync.Cond
	pending int // requests that want an answer and have none
	over    bool
}

// Read implements [sdk.Connection].
func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := m.(*jsonrpc.Request); err == nil && ok && r.IsCall() {
		c.pending++
	}
	for err != nil && c.pending > 0 && !c.over {
		c.idle.Wait()
	}
	return m, err
}

// Write implements [sdk.Connection].
func (c *patientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := m.(*jsonrpc.Response); ok {
		c.pending--
	}
	if err != nil {
		c.over = true // nobody reads
	}
	c.idle.Broadcast()
	return err
}

// Close implements [sdk.Connection].
func (c *patientConn) Close() error {
	c.mu.Lock()
	c.over = true
	c.idle.Broadcast()
	c.mu.Unlock()
	return c.Connection.Close()
}
