"""The site: a thin MkDocs plugin, what it writes beside the pages, and the templates."""
