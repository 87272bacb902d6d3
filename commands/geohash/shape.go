package geohash

import "math"

// This file owns the search for all points in a shape.

// Shape is a circle or a box around a point. Lengths count in units of that many
// metres.
type Shape struct {
	Center        Point
	Box           bool
	Radius        float64
	Width, Height float64
	Unit          float64
}

// Distance is how far a point is from the shape's centre, in metres, if the point
// is in the shape.
func (s *Shape) Distance(p Point) (metres float64, within bool) {
	if !s.Box {
		metres = Distance(s.Center, p)
		return metres, metres <= s.Radius*s.Unit
	}
	if latitudeDistance(p.Latitude, s.Center.Latitude) > s.Height*s.Unit/2 ||
		Distance(p, Point{s.Center.Longitude, p.Latitude}) > s.Width*s.Unit/2 {
		return 0, false
	}
	return Distance(s.Center, p), true
}

// stepsFor is how small cells may be so that a circle is within nine of them, for
// most places of its centre.
func stepsFor(radius, latitude float64) int {
	if radius == 0 {
		return steps
	}
	n := 1
	for ; radius < mercatorMax; radius *= 2 {
		n++
	}
	n -= 2
	// Meridians are closer towards the poles.
	if latitude = math.Abs(latitude); latitude > 80 {
		n -= 2
	} else if latitude > 66 {
		n--
	}
	return min(max(n, 1), steps)
}

// box is the corners of an area that has all of the shape. Towards a pole its
// sides are as far apart as the meridians need there, in the northern hemisphere
// those at the top, in the southern those at the bottom.
func (s *Shape) box() (low, high Point) {
	height, width := s.Radius, s.Radius
	if s.Box {
		height, width = s.Height/2, s.Width/2
	}
	dLatitude := s.Unit * height / earthRadius / degree
	edge := s.Center.Latitude + dLatitude
	if s.Center.Latitude < 0 {
		edge = s.Center.Latitude - dLatitude
	}
	dLongitude := s.Unit * width / earthRadius / math.Cos(edge*degree) / degree
	return Point{s.Center.Longitude - dLongitude, s.Center.Latitude - dLatitude},
		Point{s.Center.Longitude + dLongitude, s.Center.Latitude + dLatitude}
}

// move is the cell so many cells to the east and to the north, around the earth. A
// coordinate that does not move stays as it is, even past the last cell, where the
// greatest longitude and latitude are (geohash.c, geohash_move_x).
func (c cell) move(east, north int) cell {
	x, y := gather(c.bits>>1), gather(c.bits)
	mask := uint32(1)<<c.steps - 1
	if east != 0 {
		x = (x + uint32(east)) & mask
	}
	if north != 0 {
		y = (y + uint32(north)) & mask
	}
	c.bits = spread(y) | spread(x)<<1
	return c
}

// The cells around one, in the order in which they are searched (geo.c
// membersOfAllNeighbors), as steps to the east and to the north.
var around = [...]struct{ east, north int }{
	{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1},
}

// Span is scores from First to before Limit.
type Span struct{ First, Limit float64 }

// Spans are the scores of the cells that have all points in the shape, in the order
// in which Redis searches them. Of a shape as large as the earth a cell may come
// twice, as in Redis.
func (s *Shape) Spans() []Span {
	low, high := s.box()
	radius := s.Radius
	if s.Box {
		radius = math.Sqrt(float64(s.Width/2*(s.Width/2)) + float64(s.Height/2*(s.Height/2)))
	}
	n := stepsFor(radius*s.Unit, s.Center.Latitude)
	center := mercator.cellOf(s.Center, n)
	if n > 1 && !covers(center, low, high) {
		n--
		center = mercator.cellOf(s.Center, n)
	}
	from, to := mercator.corners(center)
	var spans []Span
	var last cell // the last but the centre
	for i, step := range around {
		if n >= 2 && (step.north < 0 && from.Latitude < low.Latitude || step.north > 0 && to.Latitude > high.Latitude ||
			step.east < 0 && from.Longitude < low.Longitude || step.east > 0 && to.Longitude > high.Longitude) {
			continue // nothing of the shape is there
		}
		c := center.move(step.east, step.north)
		if c == last && i > 0 {
			continue
		}
		if i > 0 {
			last = c
		}
		shift := 2 * (steps - c.steps)
		spans = append(spans, Span{float64(c.bits << shift), float64((c.bits + 1) << shift)})
	}
	return spans
}

// covers says whether the cells around a centre reach as far as the corners of an
// area.
func covers(center cell, low, high Point) bool {
	_, north := mercator.corners(center.move(0, 1))
	south, _ := mercator.corners(center.move(0, -1))
	_, east := mercator.corners(center.move(1, 0))
	west, _ := mercator.corners(center.move(-1, 0))
	return north.Latitude >= high.Latitude && south.Latitude <= low.Latitude &&
		east.Longitude >= high.Longitude && west.Longitude <= low.Longitude
}
