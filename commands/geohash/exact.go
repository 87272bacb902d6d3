package geohash

import "math"

// This file owns distances that are exact to the last digit: those that are stored as
// scores, which clients see with all of their digits. The sines of Go are sometimes
// one unit of the last digit off those of C; here they are worked out with twice the
// digits and rounded once, which is what C's come to in all but a few of a thousand. It
// takes twenty times as long, so what is only compared or shown with four digits does
// without.

// ExactDistance is Distance with the digits that Redis gives.
func ExactDistance(a, b Point) float64 {
	v := sine((float64(b.Longitude*degree) - float64(a.Longitude*degree)) / 2)
	if v == 0 {
		return latitudeDistance(a.Latitude, b.Latitude)
	}
	south, north := a.Latitude*degree, b.Latitude*degree
	u := sine((north - south) / 2)
	h := float64(u*u) + float64(cosine(south)*cosine(north)*v*v)
	return 2 * earthRadius * arcSine(math.Sqrt(h))
}

// pair is a number with twice the digits, the sum of its parts; low is less than half
// a unit of the last digit of high.
type pair struct{ high, low float64 }

func sum(a, b float64) pair {
	high := a + b
	of := high - a
	return pair{high, (a - (high - of)) + (b - of)}
}

func product(a, b float64) pair {
	high := a * b
	return pair{high, math.FMA(a, b, -high)}
}

func (x pair) plus(y pair) pair {
	s := sum(x.high, y.high)
	return sum(s.high, s.low+x.low+y.low)
}

func (x pair) times(y pair) pair {
	p := product(x.high, y.high)
	return sum(p.high, p.low+float64(x.high*y.low)+float64(x.low*y.high))
}

func (x pair) over(n float64) pair {
	high := x.high / n
	return sum(high, (math.FMA(-high, n, x.high)+x.low)/n)
}

func (x pair) negative() pair { return pair{-x.high, -x.low} }

// quarter is a quarter of a circle.
var quarter = pair{1.5707963267948966, 6.123233995736766e-17}

// sineAndCosine are those of an angle of a few turns at most.
func sineAndCosine(x float64) (sine, cosine pair) {
	turns := math.Round(x / quarter.high)
	part := quarter.times(pair{turns, 0}).negative().plus(pair{x, 0})
	s, c := part, pair{1, 0}
	square := part.times(part).negative()
	sineTerm, cosineTerm := part, pair{1, 0}
	for n := 2.0; n < 30; n += 2 {
		cosineTerm = cosineTerm.times(square).over(n * (n - 1))
		sineTerm = sineTerm.times(square).over(n * (n + 1))
		c, s = c.plus(cosineTerm), s.plus(sineTerm)
	}
	switch (int(turns)%4 + 4) % 4 {
	case 1:
		return c, s.negative()
	case 2:
		return s.negative(), c.negative()
	case 3:
		return c.negative(), s
	}
	return s, c
}

func sine(x float64) float64 {
	s, _ := sineAndCosine(x)
	return s.high
}

func cosine(x float64) float64 {
	_, c := sineAndCosine(x)
	return c.high
}

// arcSine corrects Go's by how far its sine is off.
func arcSine(y float64) float64 {
	x := math.Asin(y)
	s, c := sineAndCosine(x)
	if c.high == 0 {
		return x
	}
	return x + ((y-s.high)-s.low)/c.high
}
