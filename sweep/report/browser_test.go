//go:build browser

package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"anvilsweep/sweep/artifact"
)

// pictures is where the test leaves what it saw, for people to look at.
const picturesDir = "../../.browser"

// browser is one page open in Chromium, with what went wrong in it.
type browser struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []string
}

func opened(t *testing.T, html string) *browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.DisableGPU)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // root has none
	}
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, fmt.Sprint(e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError {
				b.faults = append(b.faults, "the page wrote an error to the console")
			}
		case *cdppage.EventJavascriptDialogOpening:
			b.faults = append(b.faults, "a dialog opened: "+e.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	do(b, chromedp.Navigate("file://"+path))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error(f)
		}
	})
	return b
}

// do runs one action.
func do[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// call sends one command of the browser's protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	return do(b, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) })
}

// say evaluates an expression in the page.
func say[T any](b *browser, expression string) T {
	b.t.Helper()
	return do(b, chromedp.Evaluate[T](expression))
}

func (b *browser) look(width int, theme string) {
	b.t.Helper()
	do(b, chromedp.EmulateViewport(int64(width), 900))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

func (b *browser) picture(name string) {
	b.t.Helper()
	const most = 6000 // pixels; the cells' list of a large page goes on for long
	width, height := say[int64](b, "innerWidth"), min(most, say[int64](b, "document.documentElement.scrollHeight"))
	do(b, chromedp.EmulateViewport(width, height))
	png := do(b, chromedp.CaptureScreenshot())
	if err := os.MkdirAll(picturesDir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(picturesDir, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// contrast of each kind of text with what is behind it, the least of WCAG's
// ratio; 4.5 is what small text needs.
const contrast = `(() => {
  const lum = (c) => { const v = c.match(/[\d.]+/g).slice(0, 3).map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!c.endsWith(", 0)") && c !== "transparent") return c; } return "rgb(255, 255, 255)"; };
  let worst = ["", 99];
  for (const kind of ["h1", "h2", "h3", "p", "a", "dt", "dd", "th", "td", "td.none", "td.best", "td.bad", "figcaption", "details.bad b", "summary span", "li", "output", ".chart text"])
  for (const e of Array.from(document.querySelectorAll(kind)).slice(0, 50)) {
    if (!e.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const a = lum(e.namespaceURI.endsWith("svg") ? style.fill : style.color), b = lum(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[1]) worst = [e.tagName + "." + e.className + " " + e.textContent.slice(0, 30), ratio];
  }
  return worst;
})()`

// The page in light and dark, wide and narrow, with few cells and many: nothing
// goes wrong, nothing runs out of the window, all text can be read.
func TestPagesInABrowser(t *testing.T) {
	pages := map[string]string{"report-18": rendered(t, small.documents(t)), "report-2000": rendered(t, large.documents(t)), "history-8": historyOf(t, followed(8, 20, "l40s"))}
	for name, page := range pages {
		b := opened(t, page)
		for _, width := range []int{1280, 400} {
			for _, theme := range []string{"light", "dark"} {
				b.look(width, theme)
				if over := say[float64](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
					t.Errorf("%s at %d: the page is %v pixels wider than the window", name, width, over)
				}
				if worst := say[[]any](b, contrast); worst[1].(float64) < 4.5 {
					t.Errorf("%s, %s: contrast of %v", name, theme, worst)
				}
				b.picture(fmt.Sprintf("%s-%d-%s", name, width, theme))
			}
		}
	}
}

// Tables are sorted and filtered by mouse and by keyboard.
func TestSortAndFilter(t *testing.T) {
	b := opened(t, rendered(t, small.documents(t)))
	b.look(1280, "light")
	const column = `Array.from(document.querySelectorAll("#section-1-table tbody tr"), (r) => Number(r.cells[4].dataset.v))`
	head := `#section-1-table thead tr:last-child th:nth-child(5) button`
	sorted := func(values []float64, up bool) bool {
		for i := 1; i < len(values); i++ {
			if up && values[i] < values[i-1] || !up && values[i] > values[i-1] {
				return false
			}
		}
		return len(values) == 9
	}
	do(b, chromedp.Click(head))
	if got := say[[]float64](b, column); !sorted(got, true) {
		t.Errorf("after a click: %v", got)
	}
	do(b, chromedp.Focus(head))
	do(b, chromedp.KeyEvent(kb.Enter))
	if got := say[[]float64](b, column); !sorted(got, false) {
		t.Errorf("after Enter: %v", got)
	}
	if got := say[string](b, `document.querySelector("#section-1-table thead tr:last-child th:nth-child(5)").ariaSort`); got != "descending" {
		t.Errorf("a screen reader hears %q", got)
	}
	do(b, chromedp.SendKeys(`input[data-table="section-1-table"]`, "4096"))
	if shown := say[int](b, `document.querySelectorAll("#section-1-table tbody tr:not([hidden])").length`); shown != 3 {
		t.Errorf("%d rows contain 4096", shown)
	}
	if said := say[string](b, `document.querySelector("output").textContent`); said != "3 of 9" {
		t.Errorf("the filter says %q", said)
	}
	do(b, chromedp.SendKeys(`input[data-list="cell-list"]`, "h200 ctx256"))
	if shown := say[int](b, `document.querySelectorAll("#cell-list details:not([hidden])").length`); shown != 3 {
		t.Errorf("%d cells are h200 at 256", shown)
	}
}

// A cell of the table leads to its details, which open.
func TestDetailsOpenOnDemand(t *testing.T) {
	b := opened(t, rendered(t, small.documents(t)))
	b.look(1280, "light")
	if n := say[int](b, `document.querySelectorAll("details.cell[open]").length`); n != 0 {
		t.Errorf("%d details are open at first", n)
	}
	do(b, chromedp.Focus(`#section-1-table tbody a`))
	do(b, chromedp.KeyEvent(kb.Enter))
	do(b, chromedp.WaitVisible(`details.cell[open] table`))
	if got := say[string](b, `document.querySelector("details.cell[open]").querySelector("table").textContent`); !strings.Contains(got, "TTFT") {
		t.Errorf("the details say %q", got)
	}
	if !say[bool](b, `document.activeElement.closest("details.cell[open]") !== null`) {
		t.Error("the focus did not follow")
	}
}

// Everything that can be looked at can be heard: charts and tables have names,
// inputs labels, headings no gaps.
func TestAScreenReaderFindsItsWay(t *testing.T) {
	b := opened(t, rendered(t, small.documents(t)))
	for what, expression := range map[string]string{
		"charts without a name":   `Array.from(document.querySelectorAll("svg.chart")).filter((e) => !e.getAttribute("aria-label") || e.getAttribute("role") !== "img").length`,
		"tables without a name":   `Array.from(document.querySelectorAll("table.sortable")).filter((e) => !e.caption?.textContent).length`,
		"inputs without a label":  `Array.from(document.querySelectorAll("input")).filter((e) => !e.labels.length).length`,
		"heads without a scope":   `document.querySelectorAll("th:not([scope])").length`,
		"links that lead nowhere": `Array.from(document.querySelectorAll("a")).filter((e) => !document.querySelector(e.getAttribute("href"))).length`,
		"ids used twice":          `(() => { const all = Array.from(document.querySelectorAll("[id]"), (e) => e.id); return all.length - new Set(all).size; })()`,
		"headings that skip":      `(() => { let last = 0, n = 0; for (const h of document.querySelectorAll("h1,h2,h3,h4")) { const l = Number(h.tagName[1]); if (l > last + 1) n++; last = l; } return n; })()`,
	} {
		if n := say[int](b, expression); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}

// A hostile artifact runs nothing.
func TestNothingForeignRuns(t *testing.T) {
	s := small
	s.tiers, s.failing = []string{hostile, "h200"}, hostile
	docs := s.documents(t)
	for _, d := range docs {
		d.Model, d.Engine, d.Sweep.CellID = hostile, hostile, hostile
		d.Sweep.Flags = []artifact.Flag{{Name: hostile, Reason: hostile}}
	}
	b := opened(t, rendered(t, docs))
	if n := say[int](b, `document.images.length + document.scripts.length`); n != 1 {
		t.Errorf("%d images and scripts, want our one script", n)
	}
}

// It prints: every table and chart, and no controls.
func TestItPrints(t *testing.T) {
	b := opened(t, rendered(t, small.documents(t)))
	background := true
	pdf := call(b, cdppage.PrintToPDF, cdppage.PrintToPDFParams{PrintBackground: &background}).Data
	if len(pdf) < 20_000 {
		t.Errorf("%d bytes of PDF", len(pdf))
	}
	if err := os.MkdirAll(picturesDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(picturesDir, "report-18.pdf"), pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := say[int](b, `Array.from(document.querySelectorAll(".filter, nav")).filter((e) => e.offsetHeight > 0).length`); n != 0 {
		t.Errorf("%d controls are printed", n)
	}
	if n := say[int](b, `Array.from(document.querySelectorAll("svg.chart")).filter((e) => e.getBoundingClientRect().height < 50).length`); n != 0 {
		t.Errorf("%d charts are not printed", n)
	}
}
