package dump

// This file owns streams: their nodes, what they know of themselves, and their
// groups. It must not know how entries lie in a node (package stream).

import (
	"encoding/binary"
	"fmt"
	"slices"

	"reminis/engine/stream"
)

// The types of streams, of Redis 5, 7.0 and 7.2; TypeStreamBounds is written.
const (
	TypeStreamNodes  Type = 15
	TypeStreamBounds Type = 19 // says also what was added and deleted
	TypeStreamActive Type = 21 // and when a consumer last got something
)

// AppendStream appends a stream with its type.
func (f Form) AppendStream(dst []byte, v *stream.Value) []byte {
	dst = AppendLength(append(dst, byte(TypeStreamBounds)), uint64(len(v.Blocks)))
	for i := range v.Blocks {
		b := &v.Blocks[i]
		name := b.First.Binary()
		dst = f.AppendString(dst, name[:])
		dst = f.AppendString(dst, stream.AppendNode(nil, b.Bytes, b.Entries, b.Deleted))
	}
	dst = AppendLength(dst, uint64(v.Length))
	dst = appendID(dst, v.Last)
	dst = appendID(dst, v.First)
	dst = appendID(dst, v.MaxDeleted)
	dst = AppendLength(dst, v.Added)
	dst = AppendLength(dst, uint64(len(v.Groups)))
	for i := range v.Groups {
		dst = f.appendGroup(dst, &v.Groups[i])
	}
	return dst
}

func appendID(dst []byte, id stream.ID) []byte {
	return AppendLength(AppendLength(dst, id.Ms), id.Seq)
}

func (f Form) appendGroup(dst []byte, g *stream.Group) []byte {
	dst = AppendLength(appendID(f.AppendString(dst, g.Name), g.Last), uint64(g.Read))
	dst = AppendLength(dst, uint64(len(g.Pending)))
	of := make([][]stream.ID, len(g.Consumers))
	for i := range g.Pending {
		p := &g.Pending[i]
		dst = binary.LittleEndian.AppendUint64(p.ID.AppendBinary(dst), uint64(p.DeliveredMs))
		dst = AppendLength(dst, p.Count)
		of[p.Consumer] = append(of[p.Consumer], p.ID)
	}
	dst = AppendLength(dst, uint64(len(g.Consumers)))
	for i := range g.Consumers {
		dst = binary.LittleEndian.AppendUint64(f.AppendString(dst, g.Consumers[i].Name), uint64(g.Consumers[i].SeenMs))
		dst = AppendLength(dst, uint64(len(of[i])))
		for _, id := range of[i] {
			dst = id.AppendBinary(dst)
		}
	}
	return dst
}

// count reads how many of something follow that takes leastBytes.
func (r *Reader) count(leastBytes int) (int, error) {
	n, err := r.Length()
	if err == nil && n > uint64((len(r.data)-r.at)/leastBytes) {
		err = fmt.Errorf("%w: %d of %d bytes in %d", errEnd, n, leastBytes, len(r.data)-r.at)
	}
	return int(n), err
}

func (r *Reader) stream(t Type) (*stream.Value, error) {
	v := &stream.Value{}
	nodes, err := r.count(stream.IDBytes)
	if err != nil {
		return nil, err
	}
	length := int64(0)
	for range nodes {
		b, err := r.streamBlock()
		if err != nil {
			return nil, err
		}
		length += int64(b.Entries - b.Deleted)
		v.Blocks = append(v.Blocks, b)
	}
	slices.SortFunc(v.Blocks, func(a, b stream.Block) int { return a.First.Compare(b.First) })
	for i := 1; i < len(v.Blocks); i++ {
		if v.Blocks[i-1].First == v.Blocks[i].First {
			return nil, fmt.Errorf("dump: two nodes of a stream have the id %v", v.Blocks[i].First)
		}
	}
	if err := r.streamBounds(t, &v.Bounds); err != nil {
		return nil, err
	}
	if v.Length != length {
		return nil, fmt.Errorf("dump: a stream of %d entries says that it has %d", length, v.Length)
	}
	return v, r.streamGroups(t, v)
}

func (r *Reader) streamBlock() (b stream.Block, err error) {
	name, err := r.String()
	if err != nil {
		return b, err
	}
	if len(name) != stream.IDBytes {
		return b, fmt.Errorf("dump: an id of %d bytes", len(name))
	}
	node, err := r.String()
	if err != nil {
		return b, err
	}
	b.First = stream.FromBinary(name)
	b.Bytes, b.Entries, b.Deleted, err = stream.FromNode(node)
	return b, err
}

// streamBounds reads what the stream knows of itself. First follows from its
// blocks, whatever is said.
func (r *Reader) streamBounds(t Type, b *stream.Bounds) error {
	length, err := r.Length()
	if err != nil {
		return err
	}
	if b.Last, err = r.id(); err != nil {
		return err
	}
	b.Length, b.Added = int64(length), length
	if t == TypeStreamNodes {
		return nil
	}
	if _, err = r.id(); err != nil {
		return err
	}
	if b.MaxDeleted, err = r.id(); err != nil {
		return err
	}
	b.Added, err = r.Length()
	return err
}

func (r *Reader) id() (id stream.ID, err error) {
	if id.Ms, err = r.Length(); err == nil {
		id.Seq, err = r.Length()
	}
	return id, err
}

func (r *Reader) streamGroups(t Type, v *stream.Value) error {
	// A name, an id, a counter and two lists take a byte each at least.
	groups, err := r.count(5)
	if err != nil {
		return err
	}
	seen := map[string]struct{}{}
	for range groups {
		g, err := r.streamGroup(t)
		if err != nil {
			return err
		}
		if _, twice := seen[string(g.Name)]; twice {
			return fmt.Errorf("dump: group %.64q of a stream comes twice", g.Name)
		}
		seen[string(g.Name)] = struct{}{}
		v.Groups = append(v.Groups, g)
	}
	v.Estimated = t == TypeStreamNodes
	return nil
}

func (r *Reader) streamGroup(t Type) (g stream.Group, err error) {
	if g.Name, err = r.String(); err != nil {
		return g, err
	}
	if g.Last, err = r.id(); err != nil {
		return g, err
	}
	if t != TypeStreamNodes {
		read, err := r.Length()
		if err != nil {
			return g, err
		}
		g.Read = int64(read)
	}
	if err = r.pending(&g); err != nil {
		return g, err
	}
	return g, r.consumers(t, &g)
}

// nobody is the consumer of what is pending until it is read whose it is.
const nobody = 1<<32 - 1

// pending reads what is pending for all consumers.
func (r *Reader) pending(g *stream.Group) error {
	n, err := r.count(stream.IDBytes + 8 + 1)
	if err != nil {
		return err
	}
	g.Pending = make([]stream.Pending, n)
	for i := range g.Pending {
		fixed, err := r.Bytes(stream.IDBytes + 8)
		if err != nil {
			return err
		}
		count, err := r.Length()
		if err != nil {
			return err
		}
		g.Pending[i] = stream.Pending{
			ID: stream.FromBinary(fixed), DeliveredMs: int64(binary.LittleEndian.Uint64(fixed[stream.IDBytes:])), Count: count, Consumer: nobody,
		}
	}
	slices.SortFunc(g.Pending, func(a, b stream.Pending) int { return a.ID.Compare(b.ID) })
	for i := 1; i < len(g.Pending); i++ {
		if g.Pending[i-1].ID == g.Pending[i].ID {
			return fmt.Errorf("dump: %v is pending twice", g.Pending[i].ID)
		}
	}
	return nil
}

// consumers reads the consumers, and for whom of them each entry is pending.
func (r *Reader) consumers(t Type, g *stream.Group) error {
	n, err := r.count(1 + 8 + 1)
	if err != nil {
		return err
	}
	seen := map[string]struct{}{}
	for i := range n {
		name, err := r.String()
		if err != nil {
			return err
		}
		if _, twice := seen[string(name)]; twice {
			return fmt.Errorf("dump: consumer %.64q comes twice", name)
		}
		seen[string(name)] = struct{}{}
		seen, err := r.Bytes(8)
		if err != nil {
			return err
		}
		g.Consumers = append(g.Consumers, stream.Consumer{Name: name, SeenMs: int64(binary.LittleEndian.Uint64(seen))})
		if t == TypeStreamActive {
			if _, err = r.Bytes(8); err != nil {
				return err
			}
		}
		if err = r.pendingOf(g, uint32(i)); err != nil {
			return err
		}
	}
	for i := range g.Pending {
		if g.Pending[i].Consumer == nobody {
			return fmt.Errorf("dump: %v is pending for no consumer", g.Pending[i].ID)
		}
	}
	return nil
}

func (r *Reader) pendingOf(g *stream.Group, consumer uint32) error {
	n, err := r.count(stream.IDBytes)
	if err != nil {
		return err
	}
	for range n {
		name, err := r.Bytes(stream.IDBytes)
		if err != nil {
			return err
		}
		id := stream.FromBinary(name)
		i, ok := slices.BinarySearchFunc(g.Pending, id, func(p stream.Pending, id stream.ID) int { return p.ID.Compare(id) })
		if !ok || g.Pending[i].Consumer != nobody {
			return fmt.Errorf("dump: %v is pending for a consumer, but not in the group, or for two", id)
		}
		g.Pending[i].Consumer = consumer
	}
	return nil
}
