// Package view is what a person or a program sees: diagnostics, plans,
// progress, tables and JSON documents. It takes finished values and writes
// text; it computes no statistic and decides nothing.
package view
