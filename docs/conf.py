"""How sphinx builds the site: `make docs` calls it. Nothing is downloaded."""

import warnings

import certivote

# What warns in an example fails the build, as it does in the tests.
warnings.filterwarnings("error", module="certivote")

project = "certivote"
author = "certivote developers"
project_copyright = "certivote developers, BSD-3-Clause"
version = release = certivote.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "examples", "**/GALLERY_HEADER.*", "auto_examples/*.codeobj.json"]

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
# Lists of terms on several pages link to one of them.
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False
# What stands between single backticks is a link where it is a public name, and code elsewhere.
default_role = "py:obj"
add_module_names = False
# Beside a class its methods are listed by their own names.
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "plot_gallery": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"certivote {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Pages that have no section to navigate in.
html_sidebars = {
    name: []
    for name in (
        *("index", "ten-minutes", "mathematics", "extending", "glossary"),
        *("benchmarks", "contributing", "changelog"),
        # Wide tables, which need the room.
        *("validity", "certificates", "comparison", "reproduction"),
    )
}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
templates_path = ["_templates"]


# Methods of scikit-learn, documented there.
_OTHERS = ("get_metadata_routing", "set_output")


def _skip(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator, and the fields of named tuples."""
    added = name.startswith("set_") and name.endswith("_request")
    field = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if added or field or name in _OTHERS else None


def setup(app):
    """Connect what this file defines."""
    app.connect("autodoc-skip-member", _skip)
