package geohash

import (
	"math"
	"math/rand/v2"
	"testing"
)

var (
	palermo = Point{13.361389, 38.115556}
	catania = Point{15.087269, 37.502669}
)

// TestKnownPlaces holds hashes and distances to what redis-server 7.0.15 answers.
func TestKnownPlaces(t *testing.T) {
	for _, test := range []struct {
		at    Point
		score float64
		text  string
		back  Point
	}{
		{palermo, 3479099956230698, "sqc8b49rny0", Point{13.36138933897018433, 38.11555639549629859}},
		{catania, 3479447370796909, "sqdtr74hyu0", Point{15.08726745843887329, 37.50266842333162032}},
	} {
		if score := Score(test.at); score != test.score {
			t.Errorf("%v has the hash %v, want %v", test.at, score, test.score)
		}
		if back := PointOf(test.score); back != test.back {
			t.Errorf("hash %v is %v, want %v", test.score, back, test.back)
		}
		if text := Text(test.back); text != test.text {
			t.Errorf("%v is %s, want %s", test.back, text, test.text)
		}
	}
	if metres := Distance(PointOf(Score(palermo)), PointOf(Score(catania))); math.Abs(metres-166274.1516) > 0.0001 {
		t.Errorf("Palermo is %v m from Catania", metres)
	}
}

func TestHashKeepsPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		p := Point{r.Float64()*360 - 180, (r.Float64()*2 - 1) * latitudeMax}
		if !p.Valid() {
			t.Fatalf("%v is not valid", p)
		}
		back := PointOf(Score(p))
		if math.Abs(back.Longitude-p.Longitude) > 360.0/(1<<steps) || math.Abs(back.Latitude-p.Latitude) > 180.0/(1<<steps) {
			t.Fatalf("%v became %v", p, back)
		}
		if again := Score(back); again != Score(p) {
			t.Fatalf("%v has the hash %v, its middle %v", p, Score(p), again)
		}
	}
}

// TestSpansHaveAllPoints looks for points in shapes by spans and one by one. Near
// the poles and at the ends of longitudes Redis misses some, and so do spans.
func TestSpansHaveAllPoints(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	inside := 0
	for range 2000 {
		s := Shape{Center: Point{r.Float64()*200 - 100, r.Float64()*120 - 60}, Unit: 1000}
		size := math.Pow(10, r.Float64()*3)
		if s.Box = r.IntN(2) == 0; s.Box {
			s.Width, s.Height = size*(0.5+r.Float64()), size
		} else {
			s.Radius = size
		}
		spans := s.Spans()
		for range 30 {
			reach := 2 * size / 100
			p := PointOf(Score(Point{s.Center.Longitude + (r.Float64()*2-1)*reach, s.Center.Latitude + (r.Float64()*2-1)*reach/2}))
			if _, within := s.Distance(p); !within {
				continue
			}
			inside++
			found := false
			for _, span := range spans {
				found = found || Score(p) >= span.First && Score(p) < span.Limit
			}
			if !found {
				t.Fatalf("%v is in %+v, and in none of %v", p, s, spans)
			}
		}
	}
	if inside < 1000 {
		t.Fatalf("only %d points were in a shape", inside)
	}
}

// TestScoresThatAreNoHashes shows that any score is a valid point.
func TestScoresThatAreNoHashes(t *testing.T) {
	for _, score := range []float64{-1, 0.5, 1e300, -1e300, 1 << 53, 1 << 62, 1 << 63, 1.5 * (1 << 63), 1 << 64, math.Inf(1), math.Inf(-1)} {
		if p := PointOf(score); !p.Valid() {
			t.Errorf("score %v is %v", score, p)
		}
	}
}
