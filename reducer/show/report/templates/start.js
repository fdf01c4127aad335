addEventListener("hashchange", followAddress);
followAddress();
