"""Values of records as pages show them."""

from understudy.console.values import shown


def test_a_link_leads_to_the_page_of_an_id_whatever_it_holds() -> None:
    assert shown("session_id", "a?b#c").href == "/sessions/a%3Fb%23c"
