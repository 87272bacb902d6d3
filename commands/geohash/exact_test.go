package geohash

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestExactDistance holds a distance to redis-server 7.0.15's, and all to those that
// are not exact.
func TestExactDistance(t *testing.T) {
	if km := ExactDistance(Point{15, 37}, PointOf(Score(palermo))) / 1000; km != 190.44242984775784 {
		t.Errorf("Palermo is %v km away", km)
	}
	r := rand.New(rand.NewPCG(2, 2))
	for range 10_000 {
		a := Point{r.Float64()*360 - 180, (r.Float64()*2 - 1) * latitudeMax}
		b := Point{r.Float64()*360 - 180, (r.Float64()*2 - 1) * latitudeMax}
		if exact, usual := ExactDistance(a, b), Distance(a, b); math.Abs(exact-usual) > 1e-6*usual {
			t.Fatalf("from %v to %v: %v, and %v", a, b, exact, usual)
		}
	}
	if metres := ExactDistance(palermo, palermo); metres != 0 {
		t.Errorf("Palermo is %v m from itself", metres)
	}
}
