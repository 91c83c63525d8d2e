package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"anvilsweep/sweep/metrics"
)

// chart is one picture: what it shows, in the units its axes name.
type chart struct {
	Title      string // what a screen reader says
	X, Y       string // names of the axes
	LogX, LogY bool
	TicksX     []tick // values to label, where they mean something
	TicksY     []tick
	Series     []series
	Rings      []point // points to ring
	Rules      []float64
	Diagonal   bool // where both axes would be equal
	Width      int  // 0: the usual
	Height     int
}

type point struct{ X, Y float64 }

type tick struct {
	at   float64
	text string
}

// series are points that belong together. Style tells it from others by colour,
// shape and dash: colour is never alone.
type series struct {
	Style  int
	Points []point
	Line   bool // joined
	Bare   bool // by a line without marks
	Spans  bool // each two points are the ends of a bar
}

// Sizes of a chart, in CSS pixels.
const (
	chartWidth  = 440
	chartHeight = 280
	styles      = 8 // colours and shapes; then dashes tell apart
)

// Colours stand for what the style sheet sets: ink, faint, grid, then a series'.
// No other colour of a chart begins so.
func colour(n int) color.Color { return color.NRGBA{R: 0xEE, G: 0x01, B: byte(n), A: 0xFF} }

var (
	ink   = colour(0xF0)
	faint = colour(0xF1)
	grid  = colour(0xF2)

	coloured = regexp.MustCompile(`#EE01([0-9A-F]{2})`)
	fonted   = regexp.MustCompile(`font-family:[^;]*;font-variant:[^;]*;font-weight:[^;]*;font-style:[^;"]*;?`)
	lineEnds = regexp.MustCompile(`\n\t*`)
)

// strokes is a shape of lines, each from x, y to x, y in radii. gonum's own are
// too thin to be told apart.
type strokes [][4]float64

func (s strokes) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: style.Color, Width: 1.4}
	r := style.Radius * 1.2
	for _, l := range s {
		c.StrokeLine2(line, at.X+vg.Length(l[0])*r, at.Y+vg.Length(l[1])*r, at.X+vg.Length(l[2])*r, at.Y+vg.Length(l[3])*r)
	}
}

var (
	cross   = strokes{{-1, -1, 1, 1}, {-1, 1, 1, -1}}
	plus    = strokes{{-1.2, 0, 1.2, 0}, {0, -1.2, 0, 1.2}}
	square  = strokes{{-1, -1, -1, 1}, {-1, 1, 1, 1}, {1, 1, 1, -1}, {1, -1, -1, -1}}
	diamond = strokes{{-1.3, 0, 0, 1.3}, {0, 1.3, 1.3, 0}, {1.3, 0, 0, -1.3}, {0, -1.3, -1.3, 0}}
	upward  = strokes{{-1.2, -1, 1.2, -1}, {1.2, -1, 0, 1.3}, {0, 1.3, -1.2, -1}}
)

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, cross, square, diamond, upward, plus}

func dashes(style int) []vg.Length {
	return [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 2, 2, 2}}[style/styles%4]
}

func lineOf(style int) draw.LineStyle {
	return draw.LineStyle{Color: colour(style % styles), Width: 1.6, Dashes: dashes(style)}
}

func glyphOf(style int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colour(style % styles), Radius: 3, Shape: shapes[style%styles]}
}

// svg draws the chart. It is an error to draw a number that is none, as gonum
// has it: whoever makes a chart leaves those out.
func (c chart) svg() (template.HTML, error) {
	c.Width, c.Height = cmp.Or(c.Width, chartWidth), cmp.Or(c.Height, chartHeight)
	p := plot.New()
	p.BackgroundColor = nil
	// How much of the axis a label takes: its width across, its height upward.
	c.axis(&p.X, c.X, c.LogX, c.TicksX, func(label string) float64 { return 10.5 * float64(len(label)+1) / float64(c.Width) })
	c.axis(&p.Y, c.Y, c.LogY, c.TicksY, func(string) float64 { return 14 / float64(c.Height) })
	p.Add(&plotter.Grid{Vertical: draw.LineStyle{Color: grid, Width: 0.5}, Horizontal: draw.LineStyle{Color: grid, Width: 0.5}})
	for _, s := range c.Series {
		if err := s.add(p); err != nil {
			return "", fmt.Errorf("chart %q: %w", c.Title, err)
		}
	}
	c.fit(p)
	for _, x := range c.Rules {
		if err := addLine(p, []point{{x, p.Y.Min}, {x, p.Y.Max}}, draw.LineStyle{Color: faint, Width: 1, Dashes: []vg.Length{3, 3}}); err != nil {
			return "", err
		}
	}
	if c.Diagonal {
		low, high := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max)
		if high > low {
			if err := addLine(p, []point{{low, low}, {high, high}}, draw.LineStyle{Color: faint, Width: 1, Dashes: []vg.Length{3, 3}}); err != nil {
				return "", err
			}
		}
	}
	if len(c.Rings) > 0 {
		rings, err := plotter.NewScatter(xys(c.Rings))
		if err != nil {
			return "", err
		}
		rings.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: 6, Shape: draw.RingGlyph{}}
		p.Add(rings)
	}
	canvas := vgsvg.New(vg.Length(c.Width), vg.Length(c.Height))
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	return c.page(b.String()), nil
}

// page makes the drawing part of a page: its colours the style sheet's, its
// words those of a screen reader.
func (c chart) page(svg string) template.HTML {
	_, body, _ := strings.Cut(svg, "xlink\">\n")
	body = fonted.ReplaceAllString(body, "")
	body = coloured.ReplaceAllStringFunc(body, func(s string) string {
		switch s[5:] {
		case "F0":
			return "var(--ink)"
		case "F1":
			return "var(--faint)"
		case "F2":
			return "var(--grid)"
		}
		return "var(--s" + s[6:] + ")"
	})
	body = lineEnds.ReplaceAllString(body, " ")
	title := template.HTMLEscapeString(clean(c.Title))
	//nolint:gosec // gonum escapes the labels, and nothing else in it is foreign
	return template.HTML(fmt.Sprintf(`<svg class="chart" role="img" viewBox="0 0 %d %d" aria-label="%s"><title>%s</title>%s`, c.Width, c.Height, title, title, body))
}

func (c chart) axis(a *plot.Axis, name string, log bool, ticks []tick, takes func(label string) float64) {
	a.Label.Text = clean(name)
	a.Label.TextStyle.Color, a.Tick.Label.Color, a.Color, a.Tick.Color = ink, ink, faint, faint
	a.Label.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 13}
	a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 12}
	a.Padding = 2
	if log {
		a.Scale = plot.LogScale{}
		a.Tick.Marker = plot.TickerFunc(logTicks)
	} else {
		a.Tick.Marker = plot.TickerFunc(linearTicks)
	}
	if ticks != nil {
		a.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick { return fixedTicks(ticks, log, low, high, takes) })
	}
}

// fit gives the axes room: a linear one begins at 0, a logarithmic one has its
// ends a little off the data.
func (c chart) fit(p *plot.Plot) {
	for _, a := range []struct {
		axis *plot.Axis
		log  bool
	}{{&p.X, c.LogX}, {&p.Y, c.LogY}} {
		switch {
		case math.IsInf(a.axis.Min, 0) || math.IsInf(a.axis.Max, 0): // no data
			a.axis.Min, a.axis.Max = 1, 10
		case a.log:
			a.axis.Min, a.axis.Max = a.axis.Min/1.15, a.axis.Max*1.15
		default:
			if a.axis.Min > 0 {
				a.axis.Min = 0
			}
			a.axis.Max += (a.axis.Max - a.axis.Min) * 0.05
			if a.axis.Max == a.axis.Min {
				a.axis.Max = a.axis.Min + 1
			}
		}
	}
}

func (s series) add(p *plot.Plot) error {
	switch {
	case len(s.Points) == 0:
		return nil
	case s.Spans:
		style := lineOf(s.Style)
		style.Width, style.Dashes = 9, nil
		for pair := range slices.Chunk(s.Points, 2) {
			if err := addLine(p, pair, style); err != nil {
				return err
			}
		}
		return nil
	case s.Line:
		if err := addLine(p, s.Points, lineOf(s.Style)); err != nil {
			return err
		}
	}
	if s.Bare {
		return nil
	}
	dots, err := plotter.NewScatter(xys(s.Points))
	if err != nil {
		return err
	}
	dots.GlyphStyle = glyphOf(s.Style)
	p.Add(dots)
	return nil
}

func addLine(p *plot.Plot, points []point, style draw.LineStyle) error {
	line, err := plotter.NewLine(xys(points))
	if err != nil {
		return err
	}
	line.LineStyle = style
	p.Add(line)
	return nil
}

func xys(points []point) plotter.XYs {
	out := make(plotter.XYs, len(points))
	for i, p := range points {
		out[i].X, out[i].Y = p.X, p.Y
	}
	return out
}

// swatch is a series' mark in a legend.
func swatch(style int, bar bool) template.HTML {
	canvas := vgsvg.New(28, 12)
	c := draw.New(canvas)
	line := lineOf(style)
	if bar {
		line.Width = 9
	}
	c.StrokeLine2(line, 0, 6, 28, 6)
	if !bar {
		c.DrawGlyph(glyphOf(style), vg.Point{X: 14, Y: 6})
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return ""
	}
	svg := string(chart{}.page(b.String()))
	_, body, _ := strings.Cut(svg, "</title>")
	//nolint:gosec // drawn here
	return template.HTML(`<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true">` + body)
}

// logTicks are 1, 2 and 5 of each power of ten while few are in range, else the
// powers.
func logTicks(low, high float64) []plot.Tick {
	var out []plot.Tick
	decades := math.Log10(high / low)
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			label := ""
			if m == 1 || decades < 2.2 {
				label = short(v)
			}
			if v >= low && v <= high {
				out = append(out, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return out
}

func linearTicks(low, high float64) []plot.Tick {
	const wanted = 5
	raw := (high - low) / wanted
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: short(i * step)})
	}
	return out
}

// fixedTicks leave out labels that would run into the one before.
func fixedTicks(ticks []tick, log bool, low, high float64, takes func(string) float64) []plot.Tick {
	at := func(v float64) float64 {
		if log {
			return math.Log(v/low) / math.Log(high/low)
		}
		return (v - low) / (high - low)
	}
	var out []plot.Tick
	free := math.Inf(-1)
	ticks = slices.SortedFunc(slices.Values(ticks), func(a, b tick) int { return cmp.Compare(a.at, b.at) })
	for _, t := range ticks {
		if t.at < low || t.at > high {
			continue
		}
		label, wide := t.text, takes(t.text)
		if at(t.at)-wide/2 < free {
			label = ""
		} else {
			free = at(t.at) + wide/2
		}
		out = append(out, plot.Tick{Value: t.at, Label: label})
	}
	return out
}

// short writes a tick: 0.05, 20, 1.5k, 2M.
func short(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= u.size {
			if u.name == "k" {
				u.size = 1e3
			}
			return strings.TrimSuffix(fmt.Sprintf("%.1f", v/u.size), ".0") + u.name
		}
	}
	return fmt.Sprintf("%.4g", v)
}

// clean leaves out what no XML may hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

func human(v *float64) string {
	if v == nil {
		return "—"
	}
	return metrics.Human(*v)
}
