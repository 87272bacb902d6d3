package main

// This file owns counting replies in a stream of bytes. It must not know which
// requests they answer.

import (
	"bytes"
	"fmt"
)

// counter counts the replies of one connection: simple strings, errors,
// integers, bulk strings, and arrays of these, of any depth. Other kinds end the
// count with an error.
// Budget: no allocation, except for the first error reply.
type counter struct {
	replies int
	errors  int
	nils    int
	first   string // the first error reply

	// elements are the values that still belong to the array being read.
	elements int

	kind    byte // of the reply whose first line is being read; 0 between replies
	length  int  // as far as read, of a bulk string
	isNil   bool
	skip    int // bytes of a bulk string, with its line end, still to come
	message []byte
}

// feed counts the replies that end within b. The error says that the bytes are
// no replies of the kinds above.
func (c *counter) feed(b []byte) error {
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip -= n
			b = b[n:]
			if c.skip == 0 {
				c.end(0)
			}
			continue
		}
		if c.kind == 0 {
			c.kind = b[0]
			c.length, c.isNil = 0, false
			b = b[1:]
			continue
		}
		if c.kind == '$' || c.kind == '*' {
			n, err := c.header(b)
			if err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		end := bytes.IndexByte(b, '\n')
		text := b
		if end >= 0 {
			text = b[:end+1]
		}
		if err := c.line(text, end >= 0); err != nil {
			return err
		}
		b = b[len(text):]
	}
	return nil
}

// end counts the end of a value, or the beginning of an array with so many
// elements.
func (c *counter) end(elements int) {
	if c.elements > 0 {
		c.elements-- // it was an element itself
	}
	if c.elements += elements; c.elements == 0 {
		c.replies++
	}
}

// header reads the length of a bulk string or an array, as far as it is there.
func (c *counter) header(b []byte) (int, error) {
	for i, digit := range b {
		switch {
		case digit >= '0' && digit <= '9':
			c.length = c.length*10 + int(digit-'0')
			if c.length > 1<<30 {
				return 0, fmt.Errorf("a length of more than %d bytes", 1<<30)
			}
		case digit == '-':
			c.isNil = true
		case digit == '\n':
			array := c.kind == '*'
			c.kind = 0
			switch {
			case c.isNil:
				if c.elements == 0 {
					c.nils++
				}
				c.end(0)
			case array:
				c.end(c.length)
			default:
				c.skip = c.length + 2
			}
			return i + 1, nil
		case digit != '\r':
			return 0, fmt.Errorf("a length has %q", digit)
		}
	}
	return len(b), nil
}

// line reads a reply of one line, as far as it is there.
func (c *counter) line(text []byte, whole bool) error {
	switch c.kind {
	case '+', ':':
	case '-':
		if c.errors == 0 {
			c.message = append(c.message, text...)
		}
	default:
		return fmt.Errorf("replies that begin with %q are not counted: %.40q", c.kind, text)
	}
	if !whole {
		return nil
	}
	if c.kind == '-' {
		if c.errors == 0 {
			c.first = string(bytes.TrimSpace(c.message))
		}
		c.errors++
	}
	c.kind = 0
	c.end(0)
	return nil
}
