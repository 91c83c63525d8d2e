package simengine

import (
	"container/list"
	"slices"
)

// charsPerToken is the engine's tokenizer: four characters a token.
const charsPerToken = 4

// tokensOf counts a text's tokens; a character outside ASCII counts once a byte.
func tokensOf(text string) int { return (len(text) + charsPerToken - 1) / charsPerToken }

// blocksOf hashes the whole blocks of a prompt, each chained to the one before
// (FNV-1a), so that equal hashes mean equal prefixes.
func blocksOf(text string, blockTokens int) []uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	size := blockTokens * charsPerToken
	blocks := make([]uint64, 0, len(text)/size)
	h := uint64(offset)
	for len(text) >= size {
		for i := range size {
			h = (h ^ uint64(text[i])) * prime
		}
		blocks = append(blocks, h)
		text = text[size:]
	}
	return blocks
}

// prefixCache holds the blocks used last. Of one prompt the end goes first:
// without its beginning the rest of a prefix is of no use.
type prefixCache struct {
	block, limit int
	order        *list.List // of uint64, most recent first
	at           map[uint64]*list.Element
}

func newPrefixCache(p Profile) *prefixCache {
	return &prefixCache{block: p.PrefixBlock, limit: p.CacheTokens / p.PrefixBlock, order: list.New(), at: map[uint64]*list.Element{}}
}

// hit counts the leading tokens that are held.
func (c *prefixCache) hit(blocks []uint64) int {
	n := 0
	for n < len(blocks) && c.at[blocks[n]] != nil {
		n++
	}
	for _, b := range slices.Backward(blocks[:n]) {
		c.order.MoveToFront(c.at[b])
	}
	return n * c.block
}

func (c *prefixCache) add(blocks []uint64) {
	for _, b := range slices.Backward(blocks) {
		if e, ok := c.at[b]; ok {
			c.order.MoveToFront(e)
			continue
		}
		c.at[b] = c.order.PushFront(b)
		if c.order.Len() > c.limit {
			oldest := c.order.Back()
			delete(c.at, oldest.Value.(uint64))
			c.order.Remove(oldest)
		}
	}
}
