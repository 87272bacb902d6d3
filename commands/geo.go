package commands

import (
	"math"
	"strconv"

	"reminis/commands/geohash"
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on points of the earth, which are members of a
// sorted set with their geohash as score. Searches are in geo_search.go.

func geoCommands() []*Command {
	return []*Command{
		geoAddCommand(), geoDistCommand(), geoHashCommand(), geoPosCommand(),
		geoRadiusCommand(), geoRadiusROCommand(), geoRadiusByMemberCommand(), geoRadiusByMemberROCommand(),
		geoSearchCommand(), geoSearchStoreCommand(),
	}
}

type geoAddParams struct {
	zAddParams
	points [][]byte // longitudes, latitudes and members
}

// parse reads the options and finds the points (geo.c geoaddCommand).
func (p *geoAddParams) parse(args [][]byte) (used int, err *grammar.Error) {
	for ; used < len(args); used++ {
		switch word := upToNul(args[used]); {
		case equalFold(word, "nx"):
			p.ifNew = true
			continue
		case equalFold(word, "xx"):
			p.ifExists = true
			continue
		case equalFold(word, "ch"):
			p.countUpdates = true
			continue
		}
		break
	}
	p.points = args[used:]
	if len(p.points)%3 != 0 || p.ifNew && p.ifExists {
		return used, grammar.Fail(grammar.Syntax, "")
	}
	return len(args), nil
}

func geoAddCommand() *Command {
	return onData(Declaration{
		Name: "geoadd", Family: Geo, Since: "3.2.0",
		Complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
		Summary:    "Add one or more geospatial items in the geospatial index represented using a sorted set",
		Flags:      Write | DenyOOM,
		History:    []Change{{"6.2.0", "Added the `CH`, `NX` and `XX` options."}},
		Reply:      reply.Int(),
	}, grammar.Compile[geoAddParams](
		grammar.Key("key", func(p *geoAddParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Custom("", (*geoAddParams).parse,
			grammar.Opt(grammar.OneOf("condition", grammar.Token[*geoAddParams]("NX", nil), grammar.Token[*geoAddParams]("XX", nil)).Since("6.2.0")),
			grammar.Opt(grammar.Token[*geoAddParams]("CH", nil).Named("change").Since("6.2.0")),
			grammar.Block("longitude_latitude_member",
				grammar.Float[*geoAddParams]("longitude", nil).Sample("13.361389", "15.087269", "-122.4", "0", "181"),
				grammar.Float[*geoAddParams]("latitude", nil).Sample("38.115556", "37.502669", "-33.9", "0", "86"),
				grammar.Bytes[*geoAddParams]("member", nil),
			).Multiple()),
	), runGeoAdd)
}

func runGeoAdd(tx *engine.Tx, p *geoAddParams, w *reply.Writer) error {
	scores := make([]float64, 0, len(p.points)/3)
	for i := 0; i < len(p.points); i += 3 {
		at, err := parsePoint(p.points[i:])
		if err != nil {
			return err
		}
		scores = append(scores, geohash.Score(at))
	}
	if len(scores) == 0 {
		return ErrSyntax
	}
	return p.run(tx, scores, func(i int) []byte { return p.points[3*i+2] }, w)
}

// parsePoint reads a longitude and a latitude.
func parsePoint(args [][]byte) (p geohash.Point, err error) {
	var ok bool
	if p.Longitude, ok = grammar.ParseFloat(args[0]); !ok {
		return p, ErrNotFloat
	}
	if p.Latitude, ok = grammar.ParseFloat(args[1]); !ok {
		return p, ErrNotFloat
	}
	if !p.Valid() {
		return p, errGeoPoint(p)
	}
	return p, nil
}

// unitOf is how many metres a unit is, of which any case will do.
func unitOf(word []byte) (metres float64, err error) {
	word = upToNul(word)
	switch {
	case equalFold(word, "m"):
		return 1, nil
	case equalFold(word, "km"):
		return 1000, nil
	case equalFold(word, "ft"):
		return 0.3048, nil
	case equalFold(word, "mi"):
		return 1609.34, nil
	}
	return 0, errGeoUnit
}

func unitDoc[T any]() grammar.Node {
	return grammar.OneOf("unit", grammar.Token[T]("M", nil), grammar.Token[T]("KM", nil), grammar.Token[T]("FT", nil), grammar.Token[T]("MI", nil))
}

// writeDistance writes a length with four digits behind the point (geo.c
// addReplyDoubleDistance).
func writeDistance(w *reply.Writer, length float64) {
	var buf [32]byte
	text := buf[:0]
	n := int64(math.RoundToEven(length * 1e4))
	text = append(strconv.AppendInt(text, n/1e4, 10), '.')
	for place := int64(1e3); place > 0; place /= 10 {
		text = append(text, '0'+byte(n/place%10))
	}
	w.Bulk(text)
}

func writePoint(w *reply.Writer, p geohash.Point) {
	w.Array(2)
	w.PlainDouble(p.Longitude)
	w.PlainDouble(p.Latitude)
}

type geoDistParams struct {
	key, first, second []byte
	unit               float64
}

// parseUnit reads what may follow the members.
func (p *geoDistParams) parseUnit(args [][]byte) (used int, fail *grammar.Error) {
	p.unit = 1
	switch len(args) {
	case 0:
		return 0, nil
	case 1:
		var err error
		if p.unit, err = unitOf(args[0]); err != nil {
			return 0, grammar.Fail(grammar.Other, err.Error())
		}
		return 1, nil
	}
	return 0, grammar.Fail(grammar.Syntax, "")
}

func geoDistCommand() *Command {
	return onData(Declaration{
		Name: "geodist", Family: Geo, Since: "3.2.0", Complexity: "O(log(N))",
		Summary: "Returns the distance between two members of a geospatial index",
		Flags:   ReadOnly,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[geoDistParams](
		grammar.Key("key", func(p *geoDistParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Bytes("member1", func(p *geoDistParams) *[]byte { return &p.first }),
		grammar.Bytes("member2", func(p *geoDistParams) *[]byte { return &p.second }),
		grammar.Custom("", (*geoDistParams).parseUnit, grammar.Opt(unitDoc[*geoDistParams]())),
	).WithArity(-4, "what follows the unit is a syntax error, not an arity error"), runGeoDist)
}

func runGeoDist(tx *engine.Tx, p *geoDistParams, w *reply.Writer) error {
	z, err := sortedSetForRead(tx, p.key)
	if err != nil {
		return err
	}
	first, ok := z.Score(p.first)
	second, also := z.Score(p.second)
	if !ok || !also {
		w.Null()
		return nil
	}
	writeDistance(w, geohash.Distance(geohash.PointOf(first), geohash.PointOf(second))/p.unit)
	return nil
}

// geoEach declares a command that tells something of each member.
func geoEach(name, complexity, summary string, shape reply.Shape, none func(w *reply.Writer), tell func(w *reply.Writer, at geohash.Point)) *Command {
	return onData(Declaration{
		Name: name, Family: Geo, Since: "3.2.0", Complexity: complexity, Summary: summary,
		Flags: ReadOnly,
		Reply: reply.ArrayOf(shape),
	}, grammar.Compile[membersParams](
		grammar.Key("key", func(p *membersParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Custom("", func(p *membersParams, args [][]byte) (int, *grammar.Error) {
			p.members = args
			return len(args), nil
		}, grammar.Rest[*membersParams]("member", nil)),
	).WithArity(-2, "no member is needed"), func(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Array(len(p.members))
		for _, member := range p.members {
			if score, ok := z.Score(member); ok {
				tell(w, geohash.PointOf(score))
			} else {
				none(w)
			}
		}
		return nil
	})
}

func geoHashCommand() *Command {
	return geoEach("geohash", "O(log(N)) for each member requested, where N is the number of elements in the sorted set.",
		"Returns members of a geospatial index as standard geohash strings", reply.Nullable(reply.Bulk()),
		(*reply.Writer).Null, func(w *reply.Writer, at geohash.Point) { w.BulkString(geohash.Text(at)) })
}

func geoPosCommand() *Command {
	return geoEach("geopos", "O(N) where N is the number of members requested.",
		"Returns longitude and latitude of members of a geospatial index",
		reply.OneOf(reply.NullArray(), reply.Tuple(reply.Double(), reply.Double())), (*reply.Writer).NullArray, writePoint)
}
