package resp

// This file owns the connection: what is queued to be sent and what has been
// received but not yet parsed. It must not know what any command means.

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// readSizeBytes is the free room that a read is given at least.
const readSizeBytes = 64 << 10

// AppendCommand appends a command line as a multibulk request.
func AppendCommand[T ~string | ~[]byte](buf []byte, args ...T) []byte {
	buf = append(buf, '*')
	buf = strconv.AppendInt(buf, int64(len(args)), 10)
	buf = append(buf, '\r', '\n')
	for _, arg := range args {
		buf = append(buf, '$')
		buf = strconv.AppendInt(buf, int64(len(arg)), 10)
		buf = append(buf, '\r', '\n')
		buf = append(buf, arg...)
		buf = append(buf, '\r', '\n')
	}
	return buf
}

// Client is one connection. It is not safe for concurrent use.
type Client struct {
	conn    net.Conn
	timeout time.Duration
	out     []byte
	in      []byte // received, from start on not yet parsed
	start   int
}

// Dial connects to a TCP address. The timeout bounds the connecting and every
// later Flush and Receive on its own.
func Dial(addr string, timeout time.Duration) (*Client, error) {
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", addr, err)
	}
	return NewClient(conn, timeout), nil
}

// NewClient speaks over an open connection, which it owns from now on.
func NewClient(conn net.Conn, timeout time.Duration) *Client {
	return &Client{conn: conn, timeout: timeout}
}

// Close closes the connection; what is queued and not flushed is dropped.
func (c *Client) Close() error { return c.conn.Close() }

// Queue adds a command line to what the next Flush sends.
func (c *Client) Queue(args ...string) { c.out = AppendCommand(c.out, args...) }

// QueueBytes is Queue for arguments that are bytes.
func (c *Client) QueueBytes(args ...[]byte) { c.out = AppendCommand(c.out, args...) }

// QueueRaw adds bytes as they are, for inline commands and broken requests.
func (c *Client) QueueRaw(b []byte) { c.out = append(c.out, b...) }

// Flush sends what was queued. It does not read meanwhile: a pipeline whose
// request and replies both exceed the sockets' buffers would block.
func (c *Client) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return fmt.Errorf("setting the deadline of a write: %w", err)
	}
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	if err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	return nil
}

// Receive returns the next reply; it is valid until the next call of Receive or
// Do. The error wraps io.EOF when the server closed the connection between two
// replies, io.ErrUnexpectedEOF when it did so within one.
func (c *Client) Receive() (Reply, error) {
	for {
		reply, n, err := Next(c.in[c.start:])
		if err != nil {
			return Reply{}, err
		}
		if n > 0 {
			c.start += n
			return reply, nil
		}
		if err := c.fill(); err != nil {
			return Reply{}, err
		}
	}
}

// Pending returns the bytes received and not yet parsed.
func (c *Client) Pending() []byte { return c.in[c.start:] }

// fill reads once.
func (c *Client) fill() error {
	if c.start > 0 {
		c.in = append(c.in[:0], c.in[c.start:]...)
		c.start = 0
	}
	if cap(c.in)-len(c.in) < readSizeBytes {
		// Doubling keeps the repeated parsing of one large reply affordable.
		grown := make([]byte, len(c.in), 2*cap(c.in)+readSizeBytes)
		copy(grown, c.in)
		c.in = grown
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return fmt.Errorf("setting the deadline of a read: %w", err)
	}
	n, err := c.conn.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	if n > 0 {
		return nil
	}
	if err == io.EOF && len(c.in) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("receiving: %w", err)
}

// Do sends one command line, with what was queued before it, and returns its
// reply. Replies of queued lines must have been received before.
func (c *Client) Do(args ...string) (Reply, error) {
	c.Queue(args...)
	if err := c.Flush(); err != nil {
		return Reply{}, err
	}
	return c.Receive()
}
