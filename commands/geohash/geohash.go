// Package geohash places points of the earth on a line, so that what is near is
// mostly near there too: Redis's geohash of 52 bits, with its rounding, and the
// search for all points in a circle or a box.
//
// A hash has for each of 26 steps a bit of the longitude and one of the latitude,
// each of which halves what is left of its range. So all points of a cell, the area
// of the first few steps, have hashes from one to before another, and a search is
// a few such spans around the centre and a test of each point in them. The earth is
// a sphere; latitudes end at the Mercator projection's 85.05 degrees.
//
// Products are converted to float64 where a sum follows, because a compiler may
// otherwise fuse them, and round once where Redis rounds twice.
package geohash

import "math"

// Point is a point of the earth in degrees.
type Point struct{ Longitude, Latitude float64 }

const (
	longitudeMax = 180.0
	latitudeMax  = 85.05112878

	// steps is how many bits a hash has of each coordinate.
	steps = 26

	earthRadius = 6372797.560856 // metres
	degree      = 0.017453292519943295
	mercatorMax = 20037726.37 // half of the earth's circumference, as the projection has it
)

// Valid says whether the point can have a hash.
func (p Point) Valid() bool {
	return p.Longitude >= -longitudeMax && p.Longitude <= longitudeMax && p.Latitude >= -latitudeMax && p.Latitude <= latitudeMax
}

// bounds are the ranges of coordinates that the first steps halve.
type bounds struct{ longitudeMax, latitudeMax float64 }

var mercator = bounds{longitudeMax, latitudeMax}

// cell is the area of the points whose hashes begin alike.
type cell struct {
	bits  uint64
	steps int // 0 for no area
}

// cellOf is the cell of so many steps that a point is in.
func (b bounds) cellOf(p Point, steps int) cell {
	scale := float64(uint64(1) << steps)
	x := (p.Longitude + b.longitudeMax) / (2 * b.longitudeMax) * scale
	y := (p.Latitude + b.latitudeMax) / (2 * b.latitudeMax) * scale
	return cell{spread(uint32(y)) | spread(uint32(x))<<1, steps}
}

// spread puts the bits of n into the even places.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather undoes spread.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0F0F0F0F0F0F0F0F
	x = (x | x>>4) & 0x00FF00FF00FF00FF
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return uint32(x | x>>16)
}

// corners are the south-western and north-eastern corner of a cell.
func (b bounds) corners(c cell) (low, high Point) {
	scale := float64(uint64(1) << c.steps)
	x, y := gather(c.bits>>1), gather(c.bits)
	at := func(n uint32, most float64) float64 { return -most + float64(float64(n)/scale*(2*most)) }
	return Point{at(x, b.longitudeMax), at(y, b.latitudeMax)}, Point{at(x+1, b.longitudeMax), at(y+1, b.latitudeMax)}
}

// Score is the hash of a valid point.
func Score(p Point) float64 { return float64(mercator.cellOf(p, steps).bits) }

// PointOf is the middle of the cell with a hash; of a score that is none, what
// Redis makes of its bits.
func PointOf(score float64) Point {
	low, high := mercator.corners(cell{bitsOf(score), steps})
	return Point{
		min(max((low.Longitude+high.Longitude)/2, -longitudeMax), longitudeMax),
		min(max((low.Latitude+high.Latitude)/2, -latitudeMax), latitudeMax),
	}
}

// bitsOf is a score as an integer of 64 bits without a sign, as x86-64 converts
// those that are none, too.
func bitsOf(score float64) uint64 {
	switch {
	case score >= -1<<63 && score < 1<<63:
		return uint64(int64(score))
	case score >= 1<<63 && score < 1<<64:
		return uint64(int64(score-1<<63)) ^ 1<<63
	case score >= 1<<64:
		return 0
	}
	return 1 << 63
}

const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// textSteps is how many characters of five bits a hash has; one more, of which no
// bits are left, is always 0.
const textSteps = 10

// Text is the point's standard geohash, whose latitudes end at the poles.
func Text(p Point) string {
	bits := bounds{180, 90}.cellOf(p, steps).bits
	text := make([]byte, 0, textSteps+1)
	for i := range textSteps {
		text = append(text, alphabet[bits>>(2*steps-5*(i+1))&31])
	}
	return string(append(text, alphabet[0]))
}

// Distance is how far two points are from each other in metres, by the haversine
// formula.
func Distance(a, b Point) float64 {
	v := math.Sin((float64(b.Longitude*degree) - float64(a.Longitude*degree)) / 2)
	if v == 0 {
		return latitudeDistance(a.Latitude, b.Latitude)
	}
	south, north := a.Latitude*degree, b.Latitude*degree
	u := math.Sin((north - south) / 2)
	h := float64(u*u) + float64(math.Cos(south)*math.Cos(north)*v*v)
	return 2 * earthRadius * math.Asin(math.Sqrt(h))
}

func latitudeDistance(a, b float64) float64 {
	return earthRadius * math.Abs(float64(b*degree)-float64(a*degree))
}
