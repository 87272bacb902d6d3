package commands

import (
	"math"
	"slices"

	"reminis/commands/geohash"
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns searches for points in a circle or a box. It must not know how a
// point becomes a number.
//
// Redis looks its key up before it reads any other argument, and reads the rest
// from left to right, so that the handler does too (geo.c georadiusGeneric).

// geoForm is what a command's name says of its search.
type geoForm struct {
	byMember     bool // GEORADIUSBYMEMBER
	general      bool // GEOSEARCH: centre and shape are options
	stores       bool // GEOSEARCHSTORE
	storesOnWish bool // GEORADIUS … STORE
}

type geoSearchParams struct {
	key, target []byte
	args        [][]byte // all that follows the key
}

func (p *geoSearchParams) keyField() *[]byte    { return &p.key }
func (p *geoSearchParams) targetField() *[]byte { return &p.target }

func (p *geoSearchParams) rest(args [][]byte) (used int, err *grammar.Error) {
	p.args = args
	return len(args), nil
}

// geoSearch is a search as its arguments say.
type geoSearch struct {
	form  geoForm
	shape geohash.Shape
	z     engine.SortedSet

	centered, circled, boxed                bool
	fromMember                              bool
	withPoint, withDistance, withHash       bool
	any, descending, sorted, storesDistance bool
	count                                   int64
	target                                  []byte
}

// found is a point in the shape.
type foundPoint struct {
	scoredMember
	at     geohash.Point
	metres float64
}

func (f geoForm) run(tx *engine.Tx, p *geoSearchParams, w *reply.Writer) error {
	z, err := sortedSetForRead(tx, p.key)
	if err != nil {
		return err
	}
	s := geoSearch{form: f, z: z, target: p.target}
	if err := s.read(p.args); err != nil {
		return err
	}
	var found []foundPoint
	if z.Len() > 0 {
		found = s.find()
	}
	if s.target != nil {
		s.store(tx, found, w)
	} else {
		s.write(found, w)
	}
	return nil
}

// read reads all arguments behind the key.
func (s *geoSearch) read(args [][]byte) (err error) {
	if !s.form.general {
		if args, err = s.readCircle(args); err != nil {
			return err
		}
	}
	for len(args) > 0 {
		used, err := s.readOption(args)
		if err != nil {
			return err
		}
		args = args[used:]
	}
	switch {
	case s.target != nil && (s.withPoint || s.withDistance || s.withHash):
		if s.form.stores {
			return errGeoStore("GEOSEARCHSTORE")
		}
		return errGeoStore("STORE option in GEORADIUS")
	case s.form.general && !s.centered:
		return errGeoOneOf("FROMMEMBER or FROMLONLAT")
	case s.form.general && !s.circled && !s.boxed:
		return errGeoOneOf("BYRADIUS and BYBOX")
	case s.any && s.count == 0:
		return errGeoAny
	}
	// The nearest come first where not all are wanted.
	s.sorted = s.sorted || s.count > 0 && !s.any
	return nil
}

// readCircle reads the arguments that have their places. Those of a member are not
// looked at when there is none.
func (s *geoSearch) readCircle(args [][]byte) (rest [][]byte, err error) {
	if s.form.byMember {
		if s.z.Len() == 0 {
			return args[3:], nil
		}
		err = s.centerOn(args[0])
		args = args[1:]
	} else {
		s.shape.Center, err = parsePoint(args)
		args = args[2:]
	}
	if err != nil {
		return nil, err
	}
	return args[2:], s.readRadius(args)
}

// centerOn makes a member the centre.
func (s *geoSearch) centerOn(member []byte) error {
	score, ok := s.z.Score(member)
	if !ok {
		return errGeoMember
	}
	s.shape.Center = geohash.PointOf(score)
	return nil
}

// readRadius reads a radius and its unit.
func (s *geoSearch) readRadius(args [][]byte) (err error) {
	radius, ok := grammar.ParseFloat(args[0])
	switch {
	case !ok:
		return errGeoRadius
	case radius < 0:
		return errGeoNegative
	}
	s.shape.Radius = radius
	s.shape.Unit, err = unitOf(args[1])
	return err
}

// readBox reads width and height and their unit.
func (s *geoSearch) readBox(args [][]byte) (err error) {
	width, ok := grammar.ParseFloat(args[0])
	if !ok {
		return errGeoWidth
	}
	height, ok := grammar.ParseFloat(args[1])
	switch {
	case !ok:
		return errGeoHeight
	case width < 0 || height < 0:
		return errGeoBox
	}
	s.shape.Box, s.shape.Width, s.shape.Height = true, width, height
	s.shape.Unit, err = unitOf(args[2])
	return err
}

// readOption reads the option that args begin with.
func (s *geoSearch) readOption(args [][]byte) (used int, err error) {
	word := upToNul(args[0])
	switch {
	case equalFold(word, "withdist"):
		s.withDistance = true
	case equalFold(word, "withhash"):
		s.withHash = true
	case equalFold(word, "withcoord"):
		s.withPoint = true
	case equalFold(word, "any"):
		s.any = true
	case equalFold(word, "asc"):
		s.sorted, s.descending = true, false
	case equalFold(word, "desc"):
		s.sorted, s.descending = true, true
	case equalFold(word, "count") && len(args) > 1:
		count, ok := grammar.ParseInt(args[1])
		if !ok {
			return 0, ErrNotInteger
		}
		if count <= 0 {
			return 0, errGeoCount
		}
		s.count = count
		return 2, nil
	case s.form.storesOnWish && len(args) > 1 && (equalFold(word, "store") || equalFold(word, "storedist")):
		s.target, s.storesDistance = args[1], equalFold(word, "storedist")
		return 2, nil
	case s.form.stores && equalFold(word, "storedist"):
		s.storesDistance = true
	case s.form.general:
		return s.readShape(word, args)
	default:
		return 0, ErrSyntax
	}
	return 1, nil
}

// readShape reads what GEOSEARCH says of centre and shape.
func (s *geoSearch) readShape(word []byte, args [][]byte) (used int, err error) {
	switch {
	case equalFold(word, "frommember") && len(args) > 1 && (s.fromMember || !s.centered):
		s.centered, s.fromMember = true, true
		if s.z.Len() > 0 {
			err = s.centerOn(args[1])
		}
		return 2, err
	case equalFold(word, "fromlonlat") && len(args) > 2 && !s.fromMember:
		s.centered = true
		s.shape.Center, err = parsePoint(args[1:])
		return 3, err
	case equalFold(word, "byradius") && len(args) > 2 && !s.boxed:
		s.circled = true
		return 3, s.readRadius(args[1:])
	case equalFold(word, "bybox") && len(args) > 3 && !s.circled:
		s.boxed = true
		return 4, s.readBox(args[1:])
	}
	return 0, ErrSyntax
}

// find is the points in the shape in the order of the reply; ANY ends it as soon
// as there are enough.
func (s *geoSearch) find() (found []foundPoint) {
	most := int64(math.MaxInt64)
	if s.any {
		most = s.count
	}
	for _, span := range s.shape.Spans() {
		from, to := s.z.SpanOfScores(engine.ScoreRange{Min: span.First, Max: span.Limit, MaxOpen: true})
		s.z.Range(from, to, false, func(member []byte, score float64) bool {
			at := geohash.PointOf(score)
			if metres, within := s.shape.Distance(at); within {
				found = append(found, foundPoint{scoredMember{string(member), score}, at, metres})
			}
			return int64(len(found)) < most
		})
		if int64(len(found)) >= most {
			break
		}
	}
	if s.sorted {
		s.sort(found)
	}
	if s.count > 0 && int64(len(found)) > s.count {
		found = found[:s.count]
	}
	return found
}

func (s *geoSearch) sort(found []foundPoint) {
	slices.SortStableFunc(found, func(a, b foundPoint) int {
		if s.descending {
			a, b = b, a
		}
		switch {
		case a.metres < b.metres:
			return -1
		case a.metres > b.metres:
			return 1
		}
		return 0
	})
}

func (s *geoSearch) write(found []foundPoint, w *reply.Writer) {
	options := intOf(s.withDistance) + intOf(s.withHash) + intOf(s.withPoint)
	w.Array(len(found))
	for _, x := range found {
		if options > 0 {
			w.Array(int(options) + 1)
		}
		w.BulkString(x.member)
		if s.withDistance {
			writeDistance(w, x.metres/s.shape.Unit)
		}
		if s.withHash {
			w.Int(int64(x.score))
		}
		if s.withPoint {
			writePoint(w, x.at)
		}
	}
}

func (s *geoSearch) store(tx *engine.Tx, found []foundPoint, w *reply.Writer) {
	members := make([]scoredMember, len(found))
	for i, x := range found {
		members[i] = x.scoredMember
		if s.storesDistance {
			members[i].score = geohash.ExactDistance(s.shape.Center, x.at) / s.shape.Unit
		}
	}
	event := "georadiusstore"
	if s.form.stores {
		event = "geosearchstore"
	}
	storeScored(tx, s.target, event, members)
	w.Int(int64(len(members)))
}

// The documented nodes of the arguments.

func geoNumber(name string) grammar.Node {
	return grammar.Float[*geoSearchParams](name, nil).Sample("0", "1", "15", "37", "200", "-1", "1e6")
}

func geoFlag(word string) grammar.Node { return grammar.Token[*geoSearchParams](word, nil) }

func geoFlags() []grammar.Node {
	return []grammar.Node{grammar.Opt(geoFlag("WITHCOORD")), grammar.Opt(geoFlag("WITHDIST")), grammar.Opt(geoFlag("WITHHASH"))}
}

func geoCountDoc(anySince string) grammar.Node {
	return grammar.Opt(grammar.Block("count",
		grammar.Int[*geoSearchParams]("count", nil).After("COUNT"),
		grammar.Opt(sinceIf(geoFlag("ANY"), anySince))))
}

func geoOrderDoc() grammar.Node {
	return grammar.Opt(grammar.OneOf("order", geoFlag("ASC"), geoFlag("DESC")))
}

func geoStoreDoc(word string) grammar.Node {
	return grammar.Opt(grammar.Key[*geoSearchParams]("key", nil, grammar.OW|grammar.Update).After(word))
}

// radiusDocs are the arguments of GEORADIUS and its kin behind their centre.
func radiusDocs(anySince string, stores bool, center ...grammar.Node) []grammar.Node {
	docs := append(center, geoNumber("radius"), unitDoc[*geoSearchParams]())
	docs = append(append(docs, geoFlags()...), geoCountDoc(anySince), geoOrderDoc())
	if stores {
		docs = append(docs, geoStoreDoc("STORE"), geoStoreDoc("STOREDIST"))
	}
	return docs
}

// searchDocs are the arguments of GEOSEARCH and its kin.
func searchDocs(more ...grammar.Node) []grammar.Node {
	docs := []grammar.Node{
		grammar.OneOf("from",
			grammar.Bytes[*geoSearchParams]("member", nil).After("FROMMEMBER"),
			grammar.Block("longitude_latitude", geoNumber("longitude"), geoNumber("latitude")).After("FROMLONLAT")),
		grammar.OneOf("by",
			grammar.Block("circle", geoNumber("radius").After("BYRADIUS"), unitDoc[*geoSearchParams]()),
			grammar.Block("box", geoNumber("width").After("BYBOX"), geoNumber("height"), unitDoc[*geoSearchParams]())),
		geoOrderDoc(), geoCountDoc(""),
	}
	return append(docs, more...)
}

const (
	geoRadiusComplexity = "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index."
	geoSearchComplexity = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the shape provided as the filter and M is the number of items inside the shape"
	geoUpperCase        = "Added support for uppercase unit names."
	geoAnyAdded         = "Added the `ANY` option for `COUNT`."
)

// geoReply is members, or members with what was asked for.
func geoReply() reply.Shape {
	return reply.ArrayOf(reply.OneOf(reply.Bulk(), reply.ArrayOf(reply.OneOf(reply.Bulk(), reply.Int(), reply.Tuple(reply.Double(), reply.Double())))))
}

func geoRadius(d Declaration, f geoForm, arity int, docs []grammar.Node) *Command {
	d.Family, d.DeprecatedSince, d.Complexity = Geo, "6.2.0", geoRadiusComplexity
	d.Flags, d.Reply = ReadOnly, geoReply()
	if f.storesOnWish {
		// Of several STOREs the last counts, and a key spec finds one.
		d.Flags, d.Lock, d.Reply = Write|DenyOOM, LockAll, reply.OneOf(reply.Int(), geoReply())
	}
	g := grammar.Compile[geoSearchParams](
		grammar.Key("key", (*geoSearchParams).keyField, grammar.RO|grammar.Access),
		grammar.Custom("", (*geoSearchParams).rest, docs...),
	).WithArity(arity, "the arguments are read by the handler")
	c := onData(d, g, f.run)
	if f.storesOnWish {
		c = naming(c, g, (*geoSearchParams).targets)
	}
	return c
}

// targets visits what the words STORE and STOREDIST may name.
func (p *geoSearchParams) targets(visit func(text []byte, flags grammar.KeyFlags)) {
	for i := 0; i+1 < len(p.args); i++ {
		if word := upToNul(p.args[i]); equalFold(word, "store") || equalFold(word, "storedist") {
			visit(p.args[i+1], grammar.OW|grammar.Update)
		}
	}
}

func centerDocs() []grammar.Node {
	return []grammar.Node{geoNumber("longitude"), geoNumber("latitude")}
}

func memberDoc() grammar.Node { return grammar.Bytes[*geoSearchParams]("member", nil) }

func geoRadiusCommand() *Command {
	return geoRadius(Declaration{
		Name: "georadius", Since: "3.2.0", Summary: "Query a sorted set representing a geospatial index to fetch members matching a given maximum distance from a point",
		ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
		History:    []Change{{"6.2.0", geoAnyAdded}, {"7.0.0", geoUpperCase}},
	}, geoForm{storesOnWish: true}, -6, radiusDocs("6.2.0", true, centerDocs()...))
}

func geoRadiusROCommand() *Command {
	return geoRadius(Declaration{
		Name: "georadius_ro", Since: "3.2.10", Summary: "A read-only variant for GEORADIUS",
		ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` argument",
		History:    []Change{{"6.2.0", geoAnyAdded}},
	}, geoForm{}, -6, radiusDocs("6.2.0", false, centerDocs()...))
}

func geoRadiusByMemberCommand() *Command {
	return geoRadius(Declaration{
		Name: "georadiusbymember", Since: "3.2.0", Summary: "Query a sorted set representing a geospatial index to fetch members matching a given maximum distance from a member",
		ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
		History:    []Change{{"7.0.0", geoUpperCase}},
	}, geoForm{byMember: true, storesOnWish: true}, -5, radiusDocs("", true, memberDoc()))
}

func geoRadiusByMemberROCommand() *Command {
	return geoRadius(Declaration{
		Name: "georadiusbymember_ro", Since: "3.2.10", Summary: "A read-only variant for GEORADIUSBYMEMBER",
		ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
	}, geoForm{byMember: true}, -5, radiusDocs("", false, memberDoc()))
}

func geoSearchCommand() *Command {
	return onData(Declaration{
		Name: "geosearch", Family: Geo, Since: "6.2.0", Complexity: geoSearchComplexity,
		Summary: "Query a sorted set representing a geospatial index to fetch members inside an area of a box or a circle.",
		Flags:   ReadOnly,
		History: []Change{{"7.0.0", geoUpperCase}},
		Reply:   geoReply(),
	}, grammar.Compile[geoSearchParams](
		grammar.Key("key", (*geoSearchParams).keyField, grammar.RO|grammar.Access),
		grammar.Custom("", (*geoSearchParams).rest, searchDocs(geoFlags()...)...),
	).WithArity(-7, "the arguments are read by the handler"), geoForm{general: true}.run)
}

func geoSearchStoreCommand() *Command {
	return onData(Declaration{
		Name: "geosearchstore", Family: Geo, Since: "6.2.0", Complexity: geoSearchComplexity,
		Summary: "Query a sorted set representing a geospatial index to fetch members inside an area of a box or a circle, and store the result in another key.",
		Flags:   Write | DenyOOM,
		History: []Change{{"7.0.0", geoUpperCase}},
		Reply:   reply.Int(),
	}, grammar.Compile[geoSearchParams](
		grammar.Key("destination", (*geoSearchParams).targetField, grammar.OW|grammar.Update),
		grammar.Key("source", (*geoSearchParams).keyField, grammar.RO|grammar.Access),
		grammar.Custom("", (*geoSearchParams).rest, searchDocs(grammar.Opt(geoFlag("STOREDIST")))...),
	).WithArity(-8, "the arguments are read by the handler"), geoForm{general: true, stores: true}.run)
}
