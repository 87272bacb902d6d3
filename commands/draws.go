package commands

import "reminis/commands/reply"

// This file owns the bounds of a reply whose length the client chooses freely:
// elements drawn again and again from a collection. It must not know the commands
// that draw.

const (
	replyMaxBytes = 512 << 20
	drawnMax      = replyMaxBytes / 5 // the shortest element takes so many
)

// draws is such a reply while it is written. Redis goes on until the client's
// output limit closes it; so does this, and where there is no such limit, a reply
// that is too long is an error.
type draws struct {
	w          *reply.Writer
	from, most int
	tooLong    error
}

// beginDraws is for count elements. The header is written after it.
func beginDraws(w *reply.Writer, count int64) (*draws, error) {
	d := &draws{w: w, from: w.Mark(), most: replyMaxBytes, tooLong: ErrReplyTooLong}
	if most := w.Bound(); most > 0 && most < replyMaxBytes {
		d.most, d.tooLong = most, errOutputLimit
	}
	if count > drawnMax && d.tooLong == ErrReplyTooLong {
		return nil, ErrReplyTooLong
	}
	return d, nil
}

// fits says whether what was written so far is short enough to go on.
func (d *draws) fits() bool { return d.w.Mark()-d.from <= d.most }

// end is what the reply comes to.
func (d *draws) end() error {
	if !d.fits() {
		return d.tooLong
	}
	return nil
}
